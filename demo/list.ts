/** Shows items in order and draws anew only what has changed, so that focus, selection and the place of reading stay. */
export const openList = <Item>(
  parent: HTMLElement,
  keyOf: (item: Item) => string,
  draw: (item: Item) => HTMLElement,
) => {
  let shown = new Map<string, { says: string; node: HTMLElement }>()

  const redraw = (item: Item, before: HTMLElement | undefined): HTMLElement => {
    const node = draw(item)
    const focused = before?.contains(document.activeElement)
    before?.replaceWith(node)
    if (focused) (node.querySelector<HTMLElement>('button, a') ?? node).focus()
    return node
  }

  return (items: readonly Item[]): void => {
    const next: typeof shown = new Map()
    for (const item of items) {
      const key = keyOf(item)
      const says = JSON.stringify(item)
      const before = shown.get(key)
      next.set(key, before?.says === says ? before : { says, node: redraw(item, before?.node) })
    }
    for (const [key, { node }] of shown) if (!next.has(key)) node.remove()
    const { activeElement } = document
    let place = parent.firstChild
    for (const { node } of next.values()) {
      if (node === place) place = place.nextSibling
      else parent.insertBefore(node, place)
    }
    // Whatever is moved loses the focus.
    if (activeElement instanceof HTMLElement && parent.contains(activeElement)) {
      activeElement.focus({ preventScroll: true })
    }
    shown = next
  }
}
