import { el } from './dom.ts'

const initiallyShown = 8

/** Toggle buttons for a filter. Shows the first few until the user asks for more. */
export const openChips = (label: string, onChange: () => void) => {
  const chosen = new Set<string>()
  const chips = el('div', { class: 'chips' })
  const node = el('fieldset', { hidden: true }, el('legend', {}, label), chips)

  const chip = (name: string): HTMLElement => {
    const toggle = () => {
      if (!chosen.delete(name)) chosen.add(name)
      button.ariaPressed = `${chosen.has(name)}`
      onChange()
    }
    const button = el('button', { type: 'button', class: 'chip', 'aria-pressed': 'false', click: toggle }, name)
    return button
  }

  return {
    node,
    chosen,
    setNames(names: string[]) {
      const rest = names.slice(initiallyShown).map(chip)
      const showRest = () => {
        more.replaceWith(...rest)
        rest[0]?.focus()
      }
      const more = el('button', { type: 'button', class: 'link', click: showRest }, `${rest.length} more`)
      chips.replaceChildren(...names.slice(0, initiallyShown).map(chip), ...(rest.length ? [more] : []))
      node.hidden = names.length === 0
    },
  }
}
