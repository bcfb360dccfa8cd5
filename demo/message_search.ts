import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import type { Inbox } from '../clients/inbox.ts'
import { avatar, button, el, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatShort, formatWhole, pluralize } from './format.ts'
import { link, type Navigation } from './navigation.ts'
import { openNotice } from './notices.ts'
import { ownPhoto } from './storage.ts'

type Found = components['schemas']['FoundMessage']

// Debounce while the user types.
const typingDelay = 200

/** A search of the user's messages. `onSearch` is told whether it stands in place of the conversations. */
export const openMessageSearch = (
  api: ApiClient,
  inbox: Inbox,
  navigation: Navigation,
  onSearch: (isSearching: boolean) => void,
) => {
  let current = new AbortController()
  let typing: ReturnType<typeof setTimeout> | undefined
  let found: Found[] = []
  /** The id before which the search goes on. */
  let next: number | undefined

  const render = ({ id, conversation_id, user_id, createdAt, _snippet }: Found): HTMLElement => {
    const { me, conversations } = inbox.view
    const partner = conversations.find((one) => one.id === conversation_id)?.partner
    const text = _snippet || 'A photo or file'
    return el(
      'li',
      {},
      link(
        navigation,
        { page: 'conversation', id: conversation_id, message: id },
        { class: 'entry' },
        avatar(partner?.name ?? '', ownPhoto(partner?.profile?.image_url)),
        el('span', { class: 'name clipped' }, partner?.name ?? 'A conversation'),
        el('time', { class: 'hint when', title: formatWhole(createdAt), datetime: createdAt }, formatShort(createdAt)),
        el('span', { class: 'hint preview' }, user_id === me?.id ? `You: ${text}` : text),
      ),
    )
  }
  const run = async () => {
    const { signal } = current
    const params = { query: { q: input.value, ...(next && { before_id: next }) } }
    notice.show('')
    more.hidden = true
    try {
      const asked = api.GET('/conversations/search', { params, signal })
      const data = await dataOf(asked)
      const { response } = await asked
      if (signal.aborted) return
      next = Number(/before_id=(\d+)/.exec(response.headers.get('Link') ?? '')?.[1]) || undefined
      found = [...found, ...data]
      list.append(...data.map(render))
      setText(total, found.length || next ? pluralize(found.length, 'message', 'messages') : 'No message says that.')
      more.hidden = next === undefined
    } catch (error) {
      if (!signal.aborted) notice.show(errorText(error), { 'Try again': run })
    }
  }
  const start = () => {
    clearTimeout(typing)
    current.abort()
    current = new AbortController()
    const isSearching = input.value.trim() !== ''
    results.hidden = !isSearching
    onSearch(isSearching)
    list.replaceChildren()
    setText(total, '')
    more.hidden = true
    ;[found, next] = [[], undefined]
    if (isSearching) typing = setTimeout(run, typingDelay)
  }

  const input = el('input', { type: 'search', maxlength: '512', autocomplete: 'off', input: start })
  const total = el('p', { class: 'hint', role: 'status', hidden: true })
  const notice = openNotice()
  const list = el('ul', { class: 'entries', 'aria-label': 'Messages found' })
  const more = button('Older messages', run, 'link', { hidden: true })
  const results = el('div', { hidden: true }, total, notice.node, list, more)
  const node = el(
    'div',
    { class: 'message-search' },
    el('label', { class: 'field' }, el('span', {}, 'Search messages'), input),
    results,
  )

  return {
    node,
    close() {
      clearTimeout(typing)
      current.abort()
    },
  }
}
