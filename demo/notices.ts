import { el } from './dom.ts'

/**
 * Says what went wrong, and what can be done. Hidden while nothing did. What can be tried again is, once the browser is
 * online again, unless it `retries` at a press alone.
 */
export const openNotice = (retries = true) => {
  let shown = new AbortController()
  const text = el('span', {})
  const actions = el('span', { class: 'actions' })
  const node = el('div', { class: 'notice', role: 'alert', hidden: true }, text, actions)
  return {
    node,
    show(message: string, todo: Record<string, () => void> = {}) {
      shown.abort()
      const { signal } = shown = new AbortController()
      const again = todo['Try again']
      if (again && retries) addEventListener('online', () => node.isConnected && again(), { once: true, signal })
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
