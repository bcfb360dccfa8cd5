import type { components } from '../clients/openapi.ts'
import { button, el, setText, uniqueId } from './dom.ts'
import { pluralize } from './format.ts'
import { renderHit, type ShownHit } from './hit.ts'
import { createList } from './list.ts'
import type { Navigation } from './navigation.ts'
import { type Hit, isElsewhere, livesThere, nothingSought, reasonOf, type Sought, soughtOf } from './reason.ts'
import type { Search } from './router.ts'

/** How many people were found, and how many of them in the place of the query; empty if nobody was. */
const countPeople = (people: number, hits: Hit[], { q, like }: Search, sought: Sought): string => {
  if (hits.length === 0) return ''
  const all = pluralize(people, 'person', 'people')
  if (like && !q.trim()) return `${all}, the most alike first`
  if (sought.place === '') return all
  const there = hits.filter((hit) => livesThere(hit, sought)).length
  // Those who live there come first, and there may be more of them than are shown.
  const isMore = people > hits.length && !isElsewhere(hits.at(-1)!, sought)
  return `${all} · ${there || 'nobody'}${isMore ? ' or more' : ''} in ${sought.place}`
}

/** The people found: those in the place of the query, then the others. If there are none it says what else to try. */
export const openFound = (navigation: Navigation, onLike: (hit: Hit) => void, showEverybody: () => void) => {
  let hits: Hit[] = []
  let sought = nothingSought
  let loaded = false

  const total = el('p.hint.total', { role: 'status' })
  const empty = el('div.empty', { hidden: true })
  const hitList = el('ul.hits', { 'aria-label': 'People found' })
  const elsewhere = el('p.hint.elsewhere', { id: uniqueId('elsewhere'), hidden: true }, 'Elsewhere')
  const elsewhereList = el('ul.hits', { 'aria-labelledby': elsewhere.id })
  const createHits = (parent: HTMLElement) =>
    createList<ShownHit>(parent, ({ id }) => `${id}`, (hit) => renderHit(hit, navigation, onLike))
  const list = createHits(hitList)
  const listElsewhere = createHits(elsewhereList)

  return {
    total,
    nodes: [empty, hitList, elsewhere, elsewhereList],
    hasLoaded: () => loaded,
    wait: () => loaded || setText(total, 'Searching…'),
    /** Takes what a search has found. An error takes all of it away: it would look like an answer. */
    set(search: Search, result: components['schemas']['SearchResult'] | null) {
      loaded = result !== null
      hits = result?.hits ?? []
      if (result) sought = soughtOf(result)
      setText(total, countPeople(result?.estimatedTotalHits ?? 0, hits, search, sought))
    },
    draw(search: Search, openProfile: number | null) {
      const shown = hits.map((hit) => ({ ...hit, reason: reasonOf(hit, sought), isOpen: hit.id === openProfile }))
      const others = shown.filter((hit) => isElsewhere(hit, sought))
      list(shown.slice(0, shown.length - others.length))
      listElsewhere(others)
      elsewhere.hidden = others.length === 0
      const filtered = search.interests.length + search.cities.length + search.countries.length > 0
      const words = search.q.trim()
      empty.hidden = hits.length > 0 || !loaded
      empty.replaceChildren(
        el('p', words ? `Nobody was found for “${words}”.` : 'Nobody was found.'),
        el('p', filtered ? 'Try it with fewer filters, or in other words.' : 'Try fewer or other words.'),
        button('Show everybody', showEverybody),
      )
    },
  }
}
