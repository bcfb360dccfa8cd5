// The distance in pixels that still counts as being at an edge.
export const edgeDistance = 80

/** Calls `onSeen` when an element becomes visible on a visible page, and on each `check` while it is. */
export const watchVisible = (element: HTMLElement, onSeen: () => void) => {
  let isVisible = false
  const check = () => {
    if (isVisible && document.visibilityState === 'visible') onSeen()
  }
  const observer = new IntersectionObserver(([entry]) => {
    isVisible = entry?.isIntersecting ?? false
    check()
  })
  observer.observe(element)
  document.addEventListener('visibilitychange', check)
  return {
    check,
    close() {
      observer.disconnect()
      document.removeEventListener('visibilitychange', check)
    },
  }
}

/** Keeps the reader's place in the messages: at their end, or where the reader has scrolled to. */
export const keepPlace = (scroller: HTMLElement, list: HTMLElement) => {
  let wasAtEnd = true
  const toEnd = () => {
    scroller.scrollTop = scroller.scrollHeight
  }
  // Stay at the end when the list shrinks, for example when a phone shows its keyboard.
  const size = new ResizeObserver(() => wasAtEnd && toEnd())
  size.observe(scroller)
  // A picture has its height when it has arrived.
  size.observe(list)
  scroller.addEventListener('scroll', () => {
    wasAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < edgeDistance
  })
  return {
    toEnd,
    isAtEnd: () => wasAtEnd,
    /** Draws, and keeps the first visible message in place when older ones are inserted above it. */
    keep(draw: () => void) {
      const first = list.querySelector<HTMLElement>('[data-message]')
      const above = first?.getBoundingClientRect().top
      draw()
      if (wasAtEnd) return toEnd()
      const same = first && list.querySelector(`[data-message="${first.dataset.message}"]`)
      if (same) scroller.scrollTop += same.getBoundingClientRect().top - above!
    },
    close: () => size.disconnect(),
  }
}
