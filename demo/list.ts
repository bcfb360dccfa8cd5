/** Renders a keyed list. Only changed items are rendered again, which keeps focus, selection and scroll position. */
export const createList = <Item>(
  parent: HTMLElement,
  keyOf: (item: Item) => string,
  render: (item: Item) => HTMLElement,
) => {
  let shown = new Map<string, { json: string; node: HTMLElement }>()

  const replace = (item: Item, previous: HTMLElement | undefined): HTMLElement => {
    const node = render(item)
    const focused = previous?.contains(document.activeElement) ? document.activeElement : null
    previous?.replaceWith(node)
    const controls = [...node.querySelectorAll<HTMLElement>('button, a, summary')]
    const same = controls.find(({ textContent }) => textContent === focused?.textContent)
    const next = same ?? controls[0] ?? node
    if (focused) next.focus()
    if (focused && document.activeElement !== next) parent.closest<HTMLElement>('[tabindex]')?.focus()
    return node
  }

  return (items: readonly Item[]): void => {
    const next: typeof shown = new Map()
    for (const item of items) {
      const key = keyOf(item)
      const json = JSON.stringify(item)
      const previous = shown.get(key)
      next.set(key, previous?.json === json ? previous : { json, node: replace(item, previous?.node) })
    }
    for (const [key, { node }] of shown) if (!next.has(key)) node.remove()
    const { activeElement } = document
    let position = parent.firstChild
    for (const { node } of next.values()) {
      if (node === position) position = position.nextSibling
      else parent.insertBefore(node, position)
    }
    // An element loses the focus when it is moved.
    if (activeElement instanceof HTMLElement && parent.contains(activeElement)) {
      activeElement.focus({ preventScroll: true })
    }
    shown = next
  }
}
