import { button, el, icon, visuallyHidden } from './dom.ts'

type Item = HTMLElement | null | undefined | false

/** What else can be done here, behind a button. `items` is asked each time that the menu opens. */
export const openMenu = (label: string, items: () => Item[]): HTMLDetailsElement => {
  const list = el('div.items')
  const close = (returnsFocus: boolean) => {
    node.open = false
    if (returnsFocus) node.querySelector('summary')!.focus()
  }
  const closeFromOutside = ({ target }: Event) => {
    if (!node.contains(target as Node)) close(false)
  }
  const onToggle = () => {
    document.removeEventListener('pointerdown', closeFromOutside)
    if (!node.open) return
    document.addEventListener('pointerdown', closeFromOutside)
    list.replaceChildren(...items().filter((item) => item instanceof HTMLElement))
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Escape: 0 }[event.key]
    if (step === undefined || !node.open) return
    event.preventDefault()
    event.stopPropagation()
    if (!step) return close(true)
    const places = [...node.querySelectorAll<HTMLElement>('summary, .items > *')]
    places.at((places.indexOf(document.activeElement as HTMLElement) + step) % places.length)?.focus()
  }
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !node.contains(relatedTarget)) close(false)
  }
  const listeners = { toggle: onToggle, keydown: onKey, focusout: onFocusOut }
  const node = el('details.menu', listeners, el('summary', icon('more'), visuallyHidden(label)), list)
  // The focus is on the menu while a dialog opens, which returns it here.
  list.addEventListener('click', () => close(true), { capture: true })
  return node
}

export const menuItem = (label: string, click: () => void): HTMLElement => button(label, click, 'quiet')
