import type { ApiClient } from '../../clients/api_client.ts'
import type { components } from '../../clients/openapi.ts'
import { button, el } from '../dom.ts'
import { openOutcome, section } from '../form.ts'
import { formatDay } from '../format.ts'
import { reasons, unblockPerson } from '../safety.ts'

/** What has become of the user's reports. Null without any. */
export const reportsSection = (reports: components['schemas']['MyReport'][]): HTMLElement | null => {
  if (reports.length === 0) return null
  const entries = reports.map(({ reason, createdAt, resolvedAt }) => {
    const said = resolvedAt ? `A moderator has decided, ${formatDay(resolvedAt)}` : `Sent, ${formatDay(createdAt)}`
    return el('li.row', reasons[reason], el('span.hint', said))
  })
  return section('Your reports', el('ul.fields', ...entries))
}

export interface Block {
  user_id: number
  name: string
}

/** Whom the user has blocked, and how to take it back. Null if nobody is. */
export const blocksSection = (api: ApiClient, blocks: Block[]): HTMLElement | null => {
  if (blocks.length === 0) return null
  const { nodes, attempt } = openOutcome()
  const entry = ({ user_id, name }: Block): HTMLElement => {
    const unblock = () =>
      attempt(async () => {
        await unblockPerson(api, user_id)
        item.remove()
        return `${name} is not blocked any more.`
      })
    const item = el('li.row', name, button('Unblock', unblock, '', { 'aria-label': `Unblock ${name}` }))
    return item
  }
  return section('People you have blocked', el('ul.fields', ...blocks.map(entry)), ...nodes)
}
