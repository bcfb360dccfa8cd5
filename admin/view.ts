import { el, setText } from '../demo/dom.ts'
import { language } from '../demo/format.ts'

export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' })
export const moment = (timestamp: string): HTMLElement =>
  el('time', { datetime: timestamp, title: timestamp }, format.format(new Date(timestamp)))

export const tag = (text: string, tone = ''): HTMLElement => el('span', { class: `tag ${tone}` }, text)

/** A label and a text for a row of details; null without a text. */
export const detail = (label: string, content: string | Node | 0 | null): HTMLElement | null =>
  content ? el('div', el('dt', label), el('dd', content)) : null

/** A link to the reports' person, or to whoever a row is about. */
export const personLink = (id: number, name: string): HTMLElement => el('a', { href: `#people?q=${id}` }, name)

/** One view of the page, and how to load it again. */
export interface View {
  node: HTMLElement
  /** Loads and draws; what was done before is announced. Never rejects: an error is shown in its place. */
  load: (done?: string) => Promise<void>
  /** Aborted when another view is shown. */
  signal: AbortSignal
  close: () => void
}

/** A view whose content `draw` loads. `fixed` stays above it. */
export const openView = (fixed: HTMLElement[], draw: (view: View) => Promise<(HTMLElement | null)[]>): View => {
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const status = el('p.found', { role: 'status' })
  const content = el('div.loaded')
  const closed = new AbortController()
  let latest = 0
  const load: View['load'] = async (done = '') => {
    // The response of an earlier load must not replace that of this one.
    const number = ++latest
    content.setAttribute('aria-busy', 'true')
    try {
      const drawn = await draw(view)
      if (number !== latest) return
      content.replaceChildren(...drawn.filter((node) => node !== null))
      setText(alert, '')
    } catch (error) {
      if (number !== latest) return
      setText(alert, messageOf(error))
    }
    status.textContent = done
    content.removeAttribute('aria-busy')
    // The button of what was done may be gone.
    if (done && document.activeElement === document.body) document.querySelector<HTMLElement>('main h2')?.focus()
  }
  const node = el('section', ...fixed, status, alert, content)
  const view = { node, load, signal: closed.signal, close: () => closed.abort() }
  return view
}

export const empty = (text: string): HTMLElement => el('p.empty', text)
