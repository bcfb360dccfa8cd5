import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { field, openDialog } from './dialog.ts'
import { el, select } from './dom.ts'

interface Person {
  id: number
  name: string
}

/** Why somebody is reported, in words of people. */
export const reasons = {
  spam: 'Advertising or spam',
  harassment: 'Harassment or insults',
  scam: 'A scam, or money',
  danger: 'I am afraid for somebody',
  impersonation: 'Pretends to be somebody else',
  other: 'Something else',
}

/** Asks for a report, and sends it. `notify` says what came of it. */
export const openReport = (
  api: ApiClient,
  person: Person,
  notify: (text: string) => void,
  signal: AbortSignal,
): void => {
  const reason = select(reasons)
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
        reason: reason.value as keyof typeof reasons,
        ...(note.value.trim() && { note: note.value.trim() }),
        share_messages: share.checked,
        block: block.checked,
      }
      await dataOf(api.POST('/users/me/reports', { body }))
      notify(`Thank you. The moderators look at it, and ${person.name} is not told.`)
    },
    signal,
  )
}

/** Asks whether to block, and does it. */
export const openBlock = (
  api: ApiClient,
  person: Person,
  notify: (text: string) => void,
  signal: AbortSignal,
): void => {
  const text = `Neither of you can write to the other or find the other in the search. ${person.name} is not told, ` +
    'and you can take it back.'
  openDialog(`Block ${person.name}?`, [el('p', {}, text)], 'Block', async () => {
    await dataOf(api.PUT('/users/me/blocks/{user_id}', { params: { path: { user_id: person.id } } }))
    notify(`You have blocked ${person.name}.`)
  }, signal)
}

/** Takes a block back. */
export const unblockPerson = (api: ApiClient, user_id: number): Promise<unknown> =>
  dataOf(api.DELETE('/users/me/blocks/{user_id}', { params: { path: { user_id } } }))
