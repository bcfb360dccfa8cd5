import type { ApiClient } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import { button, el, setText } from './dom.ts'
import { openFilters } from './filters.ts'
import type { Navigation } from './navigation.ts'
import { nothingSought, soughtOf, withoutPlace } from './reason.ts'
import { everybody, type Search } from './router.ts'
import { openSearchBox } from './search_box.ts'

/** Debounces while the user types. */
export const typingDelay = 200

/** What is asked: the box, what the service has understood of it, and the filters. Each change is in the address. */
export const openQuery = (api: ApiClient, navigation: Navigation, hasAccount: boolean, toPeople: () => void) => {
  let typing: ReturnType<typeof setTimeout> | undefined
  let search = everybody
  let sought = nothingSought

  const change = (part: Partial<Search>, replace = false) => {
    clearTimeout(typing)
    navigation.go({ page: 'people', search: { ...search, q: box.input.value, ...part } }, { replace })
  }
  /** Leaves the focus where one types. */
  const ask = (part: Partial<Search>) => {
    box.input.focus()
    change(part)
  }
  const onType = () => {
    clearTimeout(typing)
    const { route } = navigation
    // One step back leads to where the typing began.
    typing = setTimeout(() => {
      // The user has gone to another page meanwhile.
      if (navigation.route !== route) return
      // Completions are for accounts.
      if (hasAccount) box.complete()
      change({}, navigation.route.page === 'people')
    }, typingDelay)
  }

  const box = openSearchBox(api, onType, () => change({}))
  const filters = openFilters(change)
  const pressed = { 'aria-pressed': 'true', hidden: true }
  const place = button('', () => ask({ q: withoutPlace(search.q, sought) }), 'chip place', pressed)
  const skip = button('Skip the filters', toPeople, 'link visually-hidden')
  const suggestion = el('p.suggestion', { role: 'status', hidden: true })
  const suggest = (query?: string) => {
    suggestion.hidden = !query
    suggestion.replaceChildren(...query ? ['Did you mean ', button(query, () => ask({ q: query }), 'link'), '?'] : [])
  }

  return {
    node: el('div.query', box.node, skip, place, suggestion, filters.node),
    filters: filters.node,
    change,
    ask,
    search: () => search,
    show(next: Search) {
      search = next
      if (box.input.value !== next.q) box.input.value = next.q
      filters.show(next)
    },
    suggest,
    /** Shows what the service has made of it. */
    showUnderstood(result: components['schemas']['SearchResult']) {
      sought = soughtOf(result)
      filters.setCounts(result.facetDistribution ?? {})
      setText(place, sought.place && `in ${sought.place} ✕`)
      place.ariaLabel = `Not only in ${sought.place}`
      suggest(result._suggestion?.query)
    },
    close() {
      clearTimeout(typing)
      box.close()
    },
  }
}
