type Child = Node | string | null | undefined | false
type Attributes = Record<string, string | boolean | undefined | ((event: never) => void)>

/** Strings become text and never markup, whatever they hold; functions listen. */
export const el = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value as EventListener)
    else if (value === true) element.setAttribute(name, '')
    else if (typeof value === 'string') element.setAttribute(name, value)
  }
  element.append(...children.filter((child) => child || child === '') as (Node | string)[])
  return element
}

const shapes = {
  back: 'M10 3 5 8l5 5',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3l2 1.5',
  down: 'M8 3v10M3.5 8.5 8 13l4.5-4.5',
  read: 'm1 8.5 3.5 3.5 6-7.5M7.5 11l1 1 6-7.5',
  refused: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v4M8 11v.5',
  send: 'M2.5 8 13 3l-3 10.5-2.5-4.5zM7.5 9 13 3',
  sent: 'm3 8.5 3.5 3.5 6-7.5',
}

/** A drawing that says nothing by itself: what it means stands beside it. */
export const icon = (name: keyof typeof shapes): SVGElement => {
  const space = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(space, 'svg')
  svg.setAttribute('viewBox', '0 0 16 16')
  svg.setAttribute('aria-hidden', 'true')
  svg.classList.add('icon')
  const path = document.createElementNS(space, 'path')
  path.setAttribute('d', shapes[name])
  svg.append(path)
  return svg
}

/** For those who listen to the page. */
export const unseen = (text: string): HTMLElement => el('span', { class: 'unseen' }, text)

/** Writes only what has changed, so that a screen reader is not told again. */
export const write = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text
  element.hidden = text === ''
}

const tones = 6
/** A disc with the initials; the photos of the demo world exist nowhere. */
export const avatar = (name: string): HTMLElement => {
  const initials = name.split(/\s+/).map((word) => [...word][0] ?? '').filter((_, index, all) =>
    index === 0 || index === all.length - 1
  ).join('')
  const tone = [...name].reduce((sum, letter) => sum + letter.codePointAt(0)!, 0) % tones
  return el('span', { class: `avatar tone-${tone}`, 'aria-hidden': 'true' }, initials.toUpperCase())
}
