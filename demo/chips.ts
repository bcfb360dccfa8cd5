import { el } from './dom.ts'

const few = 8

/** Some of many to choose, a few at first. */
export const openChips = (label: string, changed: () => void) => {
  const chosen = new Set<string>()
  const chips = el('div', { class: 'chips' })
  const node = el('fieldset', { hidden: true }, el('legend', {}, label), chips)

  const toggle = (name: string, chip: HTMLElement) => {
    if (!chosen.delete(name)) chosen.add(name)
    chip.ariaPressed = `${chosen.has(name)}`
    changed()
  }
  const chip = (name: string): HTMLElement => {
    const button = el('button', {
      type: 'button',
      class: 'chip',
      'aria-pressed': 'false',
      click: () => toggle(name, button),
    }, name)
    return button
  }

  return {
    node,
    chosen,
    offer(names: string[]) {
      const rest = names.slice(few).map(chip)
      const all = el('button', {
        type: 'button',
        class: 'link',
        click: () => {
          all.replaceWith(...rest)
          rest[0]?.focus()
        },
      }, `${rest.length} more`)
      chips.replaceChildren(...names.slice(0, few).map(chip), ...(rest.length ? [all] : []))
      node.hidden = names.length === 0
    },
  }
}
