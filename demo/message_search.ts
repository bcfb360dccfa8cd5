import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import type { Inbox } from '../clients/inbox.ts'
import { avatar, button, el, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatShort, formatWhole, pluralize } from './format.ts'
import { link, type Navigation } from './navigation.ts'
import { openNotice } from './notices.ts'
import { typingDelay } from './query.ts'
import { ownPhoto } from './storage.ts'

/** A search of the user's messages, which takes the place of the conversations while it has a text. */
export const openMessageSearch = (api: ApiClient, inbox: Inbox, navigation: Navigation, conversations: HTMLElement) => {
  let current = new AbortController()
  let typing: ReturnType<typeof setTimeout> | undefined
  /** The id before which the search goes on. */
  let next: number | undefined

  const render = (message: components['schemas']['FoundMessage']): HTMLElement => {
    const { id, conversation_id, user_id, createdAt, _snippet: text } = message
    const { me, conversations } = inbox.view
    const { name = '', profile } = conversations.find((one) => one.id === conversation_id)?.partner ?? {}
    const shown = link(
      navigation,
      { page: 'conversation', id: conversation_id, message: id },
      { class: 'entry' },
      avatar(name, ownPhoto(profile?.image_url)),
      el('span.name.clipped', name),
      el('time.hint.when', { title: formatWhole(createdAt), datetime: createdAt }, formatShort(createdAt)),
      el('span.hint.preview', user_id === me?.id ? `You: ${text}` : text),
    )
    return el('li', shown)
  }
  const run = async () => {
    const { signal } = current
    notice.show('')
    more.hidden = true
    try {
      const params = { query: { q: input.value, ...(next && { before_id: next }) } }
      const asked = api.GET('/conversations/search', { params, signal })
      list.append(...(await dataOf(asked)).map(render))
      next = Number(/before_id=(\d+)/.exec((await asked).response.headers.get('Link') ?? '')?.[1]) || undefined
      const count = list.childElementCount
      setText(total, count || next ? pluralize(count, 'message', 'messages') : 'No message says that.')
      more.hidden = next === undefined
    } catch (error) {
      if (!signal.aborted) notice.show(errorText(error), { 'Try again': run })
    }
  }
  const close = () => {
    clearTimeout(typing)
    current.abort()
  }
  const start = () => {
    close()
    current = new AbortController()
    next = undefined
    const isSearching = input.value.trim() !== ''
    conversations.hidden = isSearching
    results.hidden = !isSearching
    more.hidden = true
    list.replaceChildren()
    setText(total, '')
    if (isSearching) typing = setTimeout(run, typingDelay)
  }

  const input = el('input', { type: 'search', maxlength: '512', autocomplete: 'off', input: start })
  const total = el('p.hint', { role: 'status', hidden: true })
  const notice = openNotice()
  const list = el('ul.entries', { 'aria-label': 'Messages found' })
  const more = button('Older messages', run, 'link', { hidden: true })
  const results = el('div', { hidden: true }, total, notice.node, list, more)
  const field = el('label.field', el('span', 'Search messages'), input)
  return { node: el('div.message-search', field, results), close }
}
