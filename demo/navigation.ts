import { type Attributes, type Child, el } from './dom.ts'
import { formatRoute, parseRoute, type Route } from './router.ts'

/** Which page is shown, and how to get to another. */
export interface Navigation {
  readonly route: Route
  go(route: Route, options?: { replace?: boolean }): void
  /** To the page before, or to this one if the user began here. */
  back(otherwise: Route): void
  /** Calls the listener after each change; there is one at a time. */
  listen(listener: (() => void) | null): void
}

/** The pages of a whole window: they have addresses, and the browser's buttons work. */
export const browserNavigation = (): Navigation => {
  let listener: (() => void) | null = null
  let route = parseRoute(location.href)
  const depth = (): number => (history.state as { depth?: number } | null)?.depth ?? 0
  addEventListener('popstate', () => {
    route = parseRoute(location.href)
    listener?.()
  })
  const go: Navigation['go'] = (next, { replace = false } = {}) => {
    route = next
    if (replace) history.replaceState({ depth: depth() }, '', formatRoute(next))
    else history.pushState({ depth: depth() + 1 }, '', formatRoute(next))
    listener?.()
  }
  return {
    get route() {
      return route
    },
    go,
    back: (otherwise) => depth() > 0 ? history.back() : go(otherwise, { replace: true }),
    listen: (next) => listener = next,
  }
}

/**
 * The pages of one of several panes, which share the window. Its address keeps the page of each by the name of the
 * pane, so that a reload shows the same.
 */
export const paneNavigation = (name: string, first: Route): Navigation => {
  let listener: (() => void) | null = null
  const kept = new URL(location.href).searchParams.get(name)
  let routes: Route[] = [kept === null ? first : parseRoute(kept)]
  const keep = () => {
    const address = new URL(location.href)
    address.searchParams.set(name, formatRoute(routes.at(-1)!))
    history.replaceState(history.state, '', address)
    listener?.()
  }
  return {
    get route() {
      return routes.at(-1)!
    },
    go(next, { replace = false } = {}) {
      routes = [...(replace ? routes.slice(0, -1) : routes), next]
      keep()
    },
    back(otherwise) {
      routes = routes.length > 1 ? routes.slice(0, -1) : [otherwise]
      keep()
    },
    listen: (next) => listener = next,
  }
}

/** A link to a page. With a modifier key it opens in a new tab or window, as any link. */
export const link = (navigation: Navigation, route: Route, attributes: Attributes = {}, ...children: Child[]) =>
  el('a', {
    href: formatRoute(route),
    ...attributes,
    click: (event: MouseEvent) => {
      if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
      event.preventDefault()
      navigation.go(route)
    },
  }, ...children)
