import { button, el, visuallyHidden } from './dom.ts'
import { pluralize } from './format.ts'
import { createList } from './list.ts'

const initiallyShown = 6

interface Chip {
  name: string
  people: number
  isChosen: boolean
}

/** Toggle buttons for a filter, with the number of people each. Shows the first few until the user asks for more. */
export const openChips = (label: string, onChange: (chosen: string[]) => void) => {
  let chosen: string[] = []
  let counts: [string, number][] = []
  let isWhole = false
  const chips = el('div.chips')
  const more = button('', () => {
    isWhole = true
    draw()
    chips.querySelectorAll('button')[initiallyShown]?.focus()
  }, 'link')
  const node = el('fieldset', { hidden: true }, el('legend', label), chips, more)

  const list = createList<Chip>(
    chips,
    ({ name }) => name,
    ({ name, people, isChosen }) =>
      button(
        [name, el('span.count', { 'aria-hidden': 'true' }, ` ${people}`)],
        () => onChange(isChosen ? chosen.filter((other) => other !== name) : [...chosen, name]),
        'chip',
        { 'aria-pressed': `${isChosen}`, 'data-name': name, 'aria-description': pluralize(people, 'person', 'people') },
      ),
  )

  const draw = () => {
    // What is chosen stays, also where nobody is left.
    const missing = chosen.filter((name) => !counts.some(([other]) => other === name))
    const all = [...counts, ...missing.map((name): [string, number] => [name, 0])]
      .map(([name, people]) => ({ name, people, isChosen: chosen.includes(name) }))
      .sort((one, other) => Number(other.isChosen) - Number(one.isChosen))
    list(isWhole ? all : all.slice(0, Math.max(initiallyShown, chosen.length)))
    const hidden = all.length - chips.childElementCount
    more.hidden = hidden === 0
    more.replaceChildren(`${hidden} more`, visuallyHidden(` ${label.toLowerCase()}`))
    node.hidden = all.length === 0
  }

  return {
    node,
    setChosen(names: string[]) {
      chosen = names
      draw()
    },
    /** The values that hits have, with the number of people, the most frequent first. */
    setCounts(distribution: Record<string, number>) {
      // The service separates values by commas: a value with one cannot be asked for.
      const values = Object.entries(distribution).filter(([name]) => !name.includes(','))
      counts = values.sort(([, some], [, others]) => others - some)
      draw()
    },
  }
}
