import type { ApiClient } from '../../clients/api_client.ts'
import { button, el } from '../dom.ts'
import { openOutcome, section } from '../form.ts'
import { unblockPerson } from '../safety.ts'

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
    const item = el('li', { class: 'row' }, name, button('Unblock', unblock, '', { 'aria-label': `Unblock ${name}` }))
    return item
  }
  return section('People you have blocked', el('ul', { class: 'fields' }, ...blocks.map(entry)), ...nodes)
}
