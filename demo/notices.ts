import { button, el } from './dom.ts'

/**
 * Says what went wrong, and what can be done. Hidden while nothing did. With `byHand` it is not tried again by itself
 * once the service can be reached (takeBackOffline).
 */
export const openNotice = (byHand = false) => {
  const text = el('span')
  const actions = el('span.actions')
  const node = el('div.notice', { role: 'alert', hidden: true }, text, actions)
  node.toggleAttribute('data-by-hand', byHand)
  return {
    node,
    show(message: string, todo: Record<string, () => void> = {}) {
      text.textContent = message
      actions.replaceChildren(...Object.entries(todo).map(([label, click]) => button(label, click)))
      node.hidden = message === ''
    },
  }
}

/** What the page to log in says to whoever was just logged in. */
export const farewell = el('p.hint', { role: 'status', hidden: true })

/** Grey bars where people are about to appear, in the height that they will have. */
export const skeleton = (rows: number): HTMLElement => {
  const bars = Array.from({ length: rows }, () => el('li', el('span.avatar'), el('span'), el('span')))
  return el('ul.skeleton', { 'aria-hidden': 'true' }, ...bars)
}
