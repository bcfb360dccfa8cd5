import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import { el, isComposing, uniqueId } from './dom.ts'

type Completions = components['schemas']['Completions']

const groups = [['Interests', 'interests'], ['Cities', 'cities'], ['People', 'names']] as const

/**
 * A search box that completes, as the combobox of the ARIA Authoring Practices: the focus stays in the box, arrow keys
 * choose, Enter takes, Escape closes. `onType` is called while typing, `onChoose` when a completion is taken.
 */
export const openSearchBox = (api: ApiClient, onType: () => void, onChoose: () => void) => {
  const id = uniqueId('completions')
  let current = new AbortController()
  let options: HTMLElement[] = []
  let active = -1
  // A completion that comes after Enter, or a choice, would cover what was found.
  let isTyping = false

  const setActive = (index: number) => {
    active = index
    options.forEach((option, place) => option.setAttribute('aria-selected', `${place === index}`))
    const option = options[index]
    option?.scrollIntoView({ block: 'nearest' })
    if (option) input.setAttribute('aria-activedescendant', option.id)
    else input.removeAttribute('aria-activedescendant')
  }
  const close = () => {
    isTyping = false
    current.abort()
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    setActive(-1)
  }
  const take = (text: string) => {
    input.value = text
    close()
    onChoose()
  }
  const option = (text: string): HTMLElement => {
    const node = el('li', {
      role: 'option',
      id: `${id}-${options.length}`,
      'aria-selected': 'false',
      // Keeps the focus in the box.
      pointerdown: (event: Event) => event.preventDefault(),
      click: () => take(text),
    }, text)
    options.push(node)
    return node
  }
  const show = (completions: Completions) => {
    options = []
    list.replaceChildren(...groups.flatMap(([label, key]) => {
      const texts = completions[key].filter((text) => text !== input.value.trim())
      if (texts.length === 0) return []
      const name = el('li.group', { role: 'presentation' }, label)
      return [el('ul', { role: 'group', 'aria-label': label }, name, ...texts.map(option))]
    }))
    list.hidden = options.length === 0
    input.setAttribute('aria-expanded', `${options.length > 0}`)
    setActive(-1)
  }
  const onKey = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    if (list.hidden) return event.key === 'Enter' && close()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      // One more place than options: the box itself.
      const places = options.length + 1
      setActive((active + 1 + step + places) % places - 1)
    } else if (event.key === 'Enter' && active >= 0) {
      take(options[active]!.textContent ?? '')
    } else if (event.key === 'Escape') {
      // Only the completions, and not the conversation beside them.
      event.stopPropagation()
      close()
    } else {
      if (event.key === 'Enter') close()
      return
    }
    event.preventDefault()
  }

  const input = el('input', {
    type: 'search',
    role: 'combobox',
    'aria-expanded': 'false',
    'aria-controls': id,
    'aria-autocomplete': 'list',
    placeholder: 'jazz, ceramics, cooking…',
    autocomplete: 'off',
    maxlength: '512',
    input: () => {
      isTyping = true
      onType()
    },
    keydown: onKey,
    blur: close,
  })
  const list = el('ul.completions', { role: 'listbox', id, 'aria-label': 'Completions', hidden: true })
  const node = el('div.search-box', el('label.field', el('span', 'Search people'), input), list)

  return {
    node,
    input,
    /** Asks for completions of what has been typed. Without an answer there are none. */
    async complete() {
      current.abort()
      const q = input.value.trim()
      // After a space the last word is whole, and the list would cover what was found.
      if (!q || !isTyping || /\s$/.test(input.value)) return close()
      const { signal } = current = new AbortController()
      try {
        const params = { query: { q, limit: 4 } }
        const completions = await dataOf(api.GET('/users/search/complete', { params, signal }))
        if (!signal.aborted && document.activeElement === input) show(completions)
      } catch {
        if (!signal.aborted) close()
      }
    },
    close,
  }
}
