import { el } from './dom.ts'

/** Says what went wrong, and what can be done. Hidden while nothing did. */
export const openNotice = () => {
  const text = el('span', {})
  const actions = el('span', { class: 'actions' })
  const node = el('div', { class: 'notice', role: 'alert', hidden: true }, text, actions)
  return {
    node,
    show(message: string, todo: Record<string, () => void> = {}) {
      text.textContent = message
      actions.replaceChildren(
        ...Object.entries(todo).map(([label, click]) => el('button', { type: 'button', click }, label)),
      )
      node.hidden = message === ''
    },
  }
}

/** Grey bars where people are about to appear, in the height that they will have. */
export const skeleton = (rows: number): HTMLElement =>
  el(
    'ul',
    { class: 'skeleton', 'aria-hidden': 'true' },
    ...Array.from(
      { length: rows },
      () => el('li', {}, el('span', { class: 'avatar' }), el('span', {}), el('span', {})),
    ),
  )
