import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { field, openDialog } from './dialog.ts'
import { el, select } from './dom.ts'

/** Asks about a person, and does it. `notify` says what came of it, the signal closes the dialog. */
type Ask = (
  api: ApiClient,
  person: { id: number; name: string },
  notify: (text: string) => void,
  signal: AbortSignal,
) => void

/** Why somebody is reported, in words of people. */
export const reasons = {
  spam: 'Advertising or spam',
  harassment: 'Harassment or insults',
  scam: 'A scam, or money',
  danger: 'I am afraid for somebody',
  impersonation: 'Pretends to be somebody else',
  other: 'Something else',
}

export const openReport: Ask = (api, person, notify, signal) => {
  const reason = select(reasons)
  const note = el('textarea', { rows: '3', maxlength: '2000' })
  const share = el('input', { type: 'checkbox' })
  const block = el('input', { type: 'checkbox' })
  const fields = [
    field('What is wrong?', reason),
    field('What happened?', note, 'Only the moderators read it'),
    el('label.check', share, 'Show the moderators our latest 20 messages'),
    el('label.check', block, `Block ${person.name} as well`),
  ]
  openDialog(`Report ${person.name}`, fields, 'Send the report', async () => {
    const body = {
      user_id: person.id,
      reason: reason.value as keyof typeof reasons,
      ...(note.value.trim() && { note: note.value.trim() }),
      share_messages: share.checked,
      block: block.checked,
    }
    await dataOf(api.POST('/users/me/reports', { body }))
    notify(`Thank you. The moderators look at it, and ${person.name} learns nothing but a warning of theirs.`)
  }, signal)
}

export const openBlock: Ask = (api, person, notify, signal) => {
  const text = `Neither of you can write to the other or find the other in the search. ${person.name} is not told, ` +
    'and you can take it back.'
  openDialog(`Block ${person.name}?`, [el('p', text)], 'Block', async () => {
    await dataOf(api.PUT('/users/me/blocks/{user_id}', { params: { path: { user_id: person.id } } }))
    notify(`You have blocked ${person.name}.`)
  }, signal)
}

/** Takes a block back. */
export const unblockPerson = (api: ApiClient, user_id: number): Promise<unknown> =>
  dataOf(api.DELETE('/users/me/blocks/{user_id}', { params: { path: { user_id } } }))
