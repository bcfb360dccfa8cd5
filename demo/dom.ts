export type Child = Node | string | null | undefined | false
export type Attributes = Record<string, string | boolean | undefined | ((event: never) => void)>

const setAttributes = (element: HTMLElement, attributes: Attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value as EventListener)
    else if (value === true) element.setAttribute(name, '')
    else if (typeof value === 'string') element.setAttribute(name, value)
  }
}
const isAttributes = (part: Attributes | Child): part is Attributes =>
  typeof part === 'object' && part !== null && !(part instanceof Node)

/**
 * Creates an element: `el('p.hint', { title }, 'text')`, with classes behind the tag, and attributes if there are more.
 * Strings become text and never markup; functions become event listeners.
 */
export const el = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag | `${Tag}.${string}`,
  ...parts: [Attributes, ...Child[]] | Child[]
): HTMLElementTagNameMap[Tag] => {
  const [name, ...classes] = tag.split('.')
  const element = document.createElement(name as Tag)
  element.classList.add(...classes)
  for (const part of parts) {
    if (isAttributes(part)) setAttributes(element, part)
    else if (part || part === '') element.append(part)
  }
  return element
}

/**
 * Whether a key belongs to an input method, which confirms a word with Enter. Safari ends the composition before that
 * key, and only the key code tells.
 */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229

/** Whether fingers do the pointing: keys are then on the screen, where they hide half of it and have no Shift+Enter. */
export const isTouch = (): boolean => matchMedia('(pointer: coarse)').matches

let ids = 0
/** An id that no other element of the page has; several panes show the same parts. */
export const uniqueId = (name: string): string => `${name}-${ids++}`

const iconPaths = {
  attach: 'M13 7.5 7.8 12.7a3 3 0 0 1-4.3-4.3L9 3a2 2 0 0 1 2.8 2.8l-5.3 5.3a.9.9 0 0 1-1.3-1.3L10 5',
  back: 'M10 3 5 8l5 5',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3l2 1.5',
  close: 'm4 4 8 8M12 4l-8 8',
  down: 'M8 3v10M3.5 8.5 8 13l4.5-4.5',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  muted: 'M3 6.5v3h2.5L9 12.5v-9L5.5 6.5zM11.5 6l3 4M14.5 6l-3 4',
  photo: 'M2.5 3.5h11v9h-11zM3 12l3.5-4L9 10.5 10.5 9l3 3M10.5 6h.01',
  pin: 'M6 2.5h4M7 2.5v5L5 9.5h6l-2-2v-5M8 9.5v4',
  read: 'm1 8.5 3.5 3.5 6-7.5M7.5 11l1 1 6-7.5',
  refused: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v4M8 11v.5',
  send: 'M2.5 8 13 3l-3 10.5-2.5-4.5zM7.5 9 13 3',
  sent: 'm3 8.5 3.5 3.5 6-7.5',
}

/** An element of a drawing. */
export const drawn = (tag: string, attributes: Record<string, string | number>, ...parts: Node[]): Element => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, `${value}`)
  element.append(...parts)
  return element
}
/** A decorative icon, hidden from screen readers; add a text beside it. */
export const icon = (name: keyof typeof iconPaths): Element =>
  drawn('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, drawn('path', { d: iconPaths[name] }))

/** A button that sends no form. */
export const button = (
  label: Child | Child[],
  click: (event: Event) => void,
  kind = '',
  attributes: Attributes = {},
): HTMLButtonElement =>
  el('button', { type: 'button', class: kind, click, ...attributes }, ...Array.isArray(label) ? label : [label])

/** A choice, by the value and label of each option. */
export const select = (options: Record<string, string>, chosen = ''): HTMLSelectElement => {
  const option = ([value, text]: [string, string]) => el('option', { value, selected: value === chosen }, text)
  return el('select', ...Object.entries(options).map(option))
}

/** The button that leads from a page to the one before. */
export const backButton = (onBack: () => void): HTMLElement =>
  button([icon('back'), visuallyHidden('Back')], onBack, 'quiet back')

/** Puts a file among the downloads. */
export const saveFile = (content: string, type: string, name: string): void => {
  const href = URL.createObjectURL(new Blob([content], { type }))
  el('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

/** Text for screen readers only. */
export const visuallyHidden = (text: string): HTMLElement => el('span.visually-hidden', text)

/** Sets the text only if it changed, because a screen reader announces every write. Hides an empty element. */
export const setText = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text
  element.hidden = text === ''
}

const hues = [172, 28, 210, 340, 265, 90]
/** A disc with the initials, and the photo over it if there is one and it can be loaded. */
export const avatar = (name: string, photo: string | null = null, size: '' | 'large' = ''): HTMLElement => {
  const initials = name.split(/\s+/).map((word) => [...word][0] ?? '').filter((_, index, all) =>
    index === 0 || index === all.length - 1
  ).join('')
  const tone = [...name].reduce((sum, letter) => sum + letter.codePointAt(0)!, 0) % hues.length
  const node = el('span', { class: `avatar ${size}`, 'aria-hidden': 'true' }, initials.toUpperCase())
  node.style.setProperty('--hue', `${hues[tone]}`)
  if (photo) {
    const image = el('img', { src: photo, alt: '', loading: 'lazy', error: () => image.remove() })
    node.append(image)
  }
  return node
}
