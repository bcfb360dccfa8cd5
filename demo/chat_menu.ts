import type { SupabaseClient } from '@supabase/supabase-js'
import { field, openDialog } from './dialog.ts'
import { el, icon, visuallyHidden } from './dom.ts'
import { messageOf, request } from './request.ts'
import type { openStates } from './states.ts'

const reasons = {
  spam: 'Advertising or spam',
  harassment: 'Harassment or insults',
  scam: 'A scam, or money',
  danger: 'I am afraid for somebody',
  impersonation: 'Pretends to be somebody else',
  other: 'Something else',
}

const eightHours = 8 * 3_600_000

interface Dependencies {
  supabase: SupabaseClient
  conversation: number
  states: ReturnType<typeof openStates>
  /** The other participant, once they are known. */
  other: () => { id: number; name: string } | null
  notify: (text: string) => void
}

/** What one can do with a conversation besides writing: pin, mute, archive, report and block. */
export const openChatMenu = ({ supabase, conversation, states, other, notify }: Dependencies) => {
  const attempt = async (work: () => Promise<unknown>, done = '') => {
    try {
      await work()
      notify(done)
    } catch (error) {
      notify(messageOf(error))
    }
  }
  const report = () => {
    const person = other()
    if (!person) return
    const reason = el(
      'select',
      { required: true },
      ...Object.entries(reasons).map(([value, label]) => el('option', { value }, label)),
    )
    const note = el('textarea', { rows: '3', maxlength: '2000' })
    const share = el('input', { type: 'checkbox' })
    const block = el('input', { type: 'checkbox' })
    openDialog(
      `Report ${person.name}`,
      [
        field('What is wrong?', reason),
        field('What happened?', note, 'Only the moderators read it'),
        el('label', { class: 'check' }, share, 'Show the moderators our latest 20 messages'),
        el('label', { class: 'check' }, block, `Block ${person.name} as well`),
      ],
      'Send the report',
      async () => {
        const body = {
          user_id: person.id,
          reason: reason.value,
          ...(note.value.trim() && { note: note.value.trim() }),
          share_messages: share.checked,
          block: block.checked,
        }
        await request(supabase, 'users/me/reports', { method: 'POST', body })
        notify(`Thank you. The moderators look at it, and ${person.name} is not told.`)
      },
    )
  }
  const block = () => {
    const person = other()
    if (!person) return
    openDialog(
      `Block ${person.name}?`,
      [el(
        'p',
        {},
        `Neither of you can write to the other or find the other in the search. ${person.name} is not told.`,
      )],
      'Block',
      async () => {
        await request(supabase, `users/me/blocks/${person.id}`, { method: 'PUT' })
        notify(`You have blocked ${person.name}.`)
      },
    )
  }
  const item = (label: string, click: () => void) =>
    el('button', {
      type: 'button',
      class: 'quiet',
      click: () => {
        node.open = false
        click()
      },
    }, label)

  const items = el('div', { class: 'items' })
  const node = el(
    'details',
    {
      class: 'menu',
      toggle: () => node.open && draw(),
      keydown: (event: KeyboardEvent) => {
        if (event.key !== 'Escape' || !node.open) return
        event.stopPropagation()
        node.open = false
        node.querySelector('summary')!.focus()
      },
      focusout: (event: FocusEvent) => {
        if (event.relatedTarget instanceof Node && !node.contains(event.relatedTarget)) node.open = false
      },
    },
    el('summary', {}, icon('more'), visuallyHidden('More')),
    items,
  )
  const draw = () => {
    const { archived, muted_until, pinned } = states.of(conversation)
    const set = (change: Parameters<typeof states.change>[1]) => () =>
      attempt(() => states.change(conversation, change))
    items.replaceChildren(
      item(pinned ? 'Unpin' : 'Pin to the top', set({ pinned: !pinned })),
      muted_until
        ? item('Unmute', set({ muted_until: null }))
        : item('Mute for 8 hours', set({ muted_until: new Date(Date.now() + eightHours).toISOString() })),
      item(archived ? 'Move back to the inbox' : 'Archive', set({ archived: !archived })),
      item('Report…', report),
      item('Block…', block),
    )
  }
  return { node }
}
