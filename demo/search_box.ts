import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import { el, isComposing, uniqueId } from './dom.ts'

type Completions = components['schemas']['Completions']

const groups = [['Interests', 'interests'], ['Cities', 'cities'], ['People', 'names']] as const

/** The completions below a box, of which one can be active. `onTake` is called with the one that is clicked. */
const openCompletions = (input: HTMLElement, id: string, onTake: (text: string) => void) => {
  let options: HTMLElement[] = []
  let active = -1
  const node = el('ul.completions', { role: 'listbox', id, 'aria-label': 'Completions', hidden: true })

  const setActive = (index: number) => {
    active = index
    options.forEach((option, place) => option.setAttribute('aria-selected', `${place === index}`))
    const option = options[index]
    option?.scrollIntoView({ block: 'nearest' })
    if (option) input.setAttribute('aria-activedescendant', option.id)
    else input.removeAttribute('aria-activedescendant')
  }
  const setOpen = (isOpen: boolean) => {
    node.hidden = !isOpen
    input.setAttribute('aria-expanded', `${isOpen}`)
    setActive(-1)
  }
  const createOption = (text: string): HTMLElement => {
    const attributes = { role: 'option', id: `${id}-${options.length}`, 'aria-selected': 'false' }
    // Keeps the focus in the box.
    const pointerdown = (event: Event) => event.preventDefault()
    const option = el('li', { ...attributes, pointerdown, click: () => onTake(text) }, text)
    options.push(option)
    return option
  }

  return {
    node,
    /** Shows those that differ from what has been typed. */
    show(completions: Completions, typed: string) {
      options = []
      node.replaceChildren(...groups.flatMap(([label, key]) => {
        const texts = completions[key].filter((text) => text !== typed)
        if (texts.length === 0) return []
        const name = el('li.group', { role: 'presentation' }, label)
        return [el('ul', { role: 'group', 'aria-label': label }, name, ...texts.map(createOption))]
      }))
      setOpen(options.length > 0)
    },
    hide: () => setOpen(false),
    /** Makes the next or the previous one active. One more place than options: the box itself. */
    move(step: number) {
      const places = options.length + 1
      setActive((active + 1 + step + places) % places - 1)
    },
    active: () => options[active]?.textContent,
  }
}

/**
 * A search box that completes, as the combobox of the ARIA Authoring Practices: the focus stays in the box, arrow keys
 * choose, Enter takes, Escape closes. `onType` is called while typing, `onChoose` when a completion is taken.
 */
export const openSearchBox = (api: ApiClient, onType: () => void, onChoose: () => void) => {
  let current = new AbortController()
  // A completion that comes after Enter, or a choice, would cover what was found.
  let isTyping = false

  const close = () => {
    isTyping = false
    current.abort()
    completions.hide()
  }
  const take = (text: string) => {
    input.value = text
    close()
    onChoose()
  }
  const onInput = () => {
    isTyping = true
    onType()
  }
  const onKey = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    if (completions.node.hidden) return event.key === 'Enter' && close()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const active = completions.active()
    if (step) completions.move(step)
    else if (event.key === 'Enter' && active !== undefined) take(active)
    else if (event.key === 'Enter') return close()
    else if (event.key === 'Escape') {
      // Only the completions, and not the conversation beside them.
      event.stopPropagation()
      close()
    } else return
    event.preventDefault()
  }

  const id = uniqueId('completions')
  const combobox = { role: 'combobox', 'aria-expanded': 'false', 'aria-controls': id, 'aria-autocomplete': 'list' }
  const text = { placeholder: 'jazz, ceramics, cooking…', autocomplete: 'off', maxlength: '512' }
  const input = el('input', { type: 'search', ...combobox, ...text, input: onInput, keydown: onKey, blur: close })
  const completions = openCompletions(input, id, take)
  const label = el('label.field', el('span', 'Search people'), input)

  return {
    node: el('div.search-box', label, completions.node),
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
        const found = await dataOf(api.GET('/users/search/complete', { params, signal }))
        if (!signal.aborted && document.activeElement === input) completions.show(found, input.value.trim())
      } catch {
        if (!signal.aborted) close()
      }
    },
    close,
  }
}
