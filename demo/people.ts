import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { button, el, setText, uniqueId } from './dom.ts'
import { openFilters } from './filters.ts'
import { pluralize } from './format.ts'
import { renderHit, type ShownHit } from './hit.ts'
import { createList } from './list.ts'
import type { Navigation } from './navigation.ts'
import { openNotice, skeleton } from './notices.ts'
import { errorText } from './errors.ts'
import { type Hit, isElsewhere, livesThere, reasonOf, type Sought, soughtOf, withoutPlace } from './reason.ts'
import { everybody, type Search } from './router.ts'
import { searchPeople } from './search.ts'
import { openSearchBox } from './search_box.ts'

/** Debounces while the user types. */
export const typingDelay = 200
const pageSize = 20
const maxHits = 100

/** Search as you type, by words, meaning and filters, or for people like one. The search is in the address. */
export const openPeople = (api: ApiClient, navigation: Navigation, { hasAccount } = { hasAccount: true }) => {
  let current = new AbortController()
  let typing: ReturnType<typeof setTimeout> | undefined
  let search = everybody
  let limit = pageSize
  let hits: Hit[] = []
  let sought: Sought = { hasMeaning: false, place: '', words: 0 }
  let openProfile: number | null = null
  let loaded = false
  const names = new Map<number, string>()

  const change = (part: Partial<Search>, replace = false) => {
    clearTimeout(typing)
    navigation.go({ page: 'people', search: { ...search, q: box.input.value, ...part } }, { replace })
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
  const run = async () => {
    // The response of an earlier search must not replace that of this one.
    current.abort()
    const { signal } = current = new AbortController()
    node.setAttribute('aria-busy', 'true')
    notice.show('')
    if (!loaded) setText(total, 'Searching…')
    try {
      const result = await searchPeople(api, search, limit, signal)
      if (signal.aborted) return
      loaded = true
      hits = result.hits
      sought = soughtOf(result)
      for (const { id, name } of hits) names.set(id, name)
      filters.setCounts(result.facetDistribution ?? {})
      suggest(result._suggestion?.query)
      setText(total, countPeople(result.estimatedTotalHits))
      setText(place, sought.place && `in ${sought.place} ✕`)
      place.ariaLabel = `Not only in ${sought.place}`
      more.hidden = hits.length < limit || hits.length >= Math.min(result.estimatedTotalHits, maxHits)
      draw()
    } catch (error) {
      if (signal.aborted) return
      // Those of the search before would look like its answer.
      hits = []
      loaded = false
      more.hidden = true
      suggest(undefined)
      setText(total, '')
      draw()
      notice.show(errorText(error), { 'Try again': run, ...(search.like && { 'Show everybody': showEverybody }) })
    }
    placeholder.hidden = true
    node.removeAttribute('aria-busy')
  }
  const countPeople = (people: number): string => {
    if (hits.length === 0) return ''
    const all = pluralize(people, 'person', 'people')
    if (search.like && !search.q.trim()) return `${all}, the most alike first`
    if (sought.place === '') return all
    const there = hits.filter((hit) => livesThere(hit, sought)).length
    // Those who live there come first, and there may be more of them than are shown.
    const isMore = people > hits.length && !isElsewhere(hits.at(-1)!, sought)
    return `${all} · ${there || 'nobody'}${isMore ? ' or more' : ''} in ${sought.place}`
  }
  const showEverybody = () => {
    change(everybody)
    box.input.focus()
  }
  const draw = () => {
    const hasWords = search.q.trim() !== ''
    const shown = hits.map((hit) => ({ ...hit, reason: reasonOf(hit, sought), isOpen: hit.id === openProfile }))
    const others = shown.filter((hit) => isElsewhere(hit, sought))
    list(shown.slice(0, shown.length - others.length))
    listElsewhere(others)
    elsewhere.hidden = others.length === 0
    const filtered = search.interests.length + search.cities.length + search.countries.length > 0
    empty.hidden = hits.length > 0 || !loaded
    empty.replaceChildren(
      el('p', hasWords ? `Nobody was found for “${search.q.trim()}”.` : 'Nobody was found.'),
      el('p', filtered ? 'Try it with fewer filters, or in other words.' : 'Try fewer or other words.'),
      button('Show everybody', showEverybody),
    )
  }
  const suggest = (query: string | undefined) => {
    suggestion.hidden = query === undefined
    const take = () => {
      box.input.focus()
      change({ q: query! })
    }
    suggestion.replaceChildren(...query === undefined ? [] : ['Did you mean ', button(query, take, 'link'), '?'])
  }
  const drawLiked = async () => {
    const { like } = search
    banner.hidden = !like
    if (!like) return
    const name = names.get(like) ?? ''
    banner.replaceChildren(`People like ${name || 'one of them'} `, clear)
    if (name) return
    const profile = await dataOf(api.GET('/users/{id}', { params: { path: { id: like } } })).catch(() => null)
    if (!profile) return
    names.set(like, profile.name)
    if (search.like === like) banner.replaceChildren(`People like ${profile.name} `, clear)
  }

  const box = openSearchBox(api, onType, () => change({}))
  const filters = openFilters(change)
  const total = el('p.hint.total', { role: 'status' })
  const place = button(
    '',
    () => {
      box.input.focus()
      change({ q: withoutPlace(search.q, sought) })
    },
    'chip place',
    { 'aria-pressed': 'true', hidden: true },
  )
  const skip = button(
    'Skip the filters',
    () => node.querySelector<HTMLElement>('.hit a')?.focus(),
    'link visually-hidden',
  )
  const suggestion = el('p.suggestion', { role: 'status', hidden: true })
  const clear = button('Show everybody', () => {
    change({ like: null })
    box.input.focus()
  }, 'link')
  const banner = el('p.liked', { hidden: true })
  const notice = openNotice()
  const empty = el('div.empty', { hidden: true })
  const placeholder = skeleton(5)
  const hitList = el('ul.hits', { 'aria-label': 'People found' })
  const more = button('More people', () => {
    limit = Math.min(limit + pageSize, maxHits)
    run()
  }, 'quiet')
  more.hidden = true
  const onLike = ({ id }: Hit) => {
    change({ ...everybody, like: id })
    clear.focus()
  }
  const elsewhere = el('p.hint.elsewhere', { id: uniqueId('elsewhere'), hidden: true }, 'Elsewhere')
  const elsewhereList = el('ul.hits', { 'aria-labelledby': elsewhere.id })
  const createHits = (parent: HTMLElement) =>
    createList<ShownHit>(parent, ({ id }) => `${id}`, (hit) => renderHit(hit, navigation, onLike))
  const list = createHits(hitList)
  const listElsewhere = createHits(elsewhereList)
  const node = el(
    'div.panel.people',
    el('div.query', box.node, skip, place, suggestion, filters.node),
    el('div.found', banner, total, notice.node, placeholder, empty, hitList, elsewhere, elsewhereList, more),
  )
  // Beside an open profile, and on a phone, they would push the people off the screen.
  let isWide = false
  const width = new ResizeObserver(() => {
    const wasWide = isWide
    isWide = getComputedStyle(node).display === 'grid'
    if (isWide !== wasWide) filters.node.open = isWide
  })
  width.observe(node)

  return {
    node,
    /** Shows the people of this search; without one, those of the latest. */
    show(next: Search | null, profile: number | null) {
      const isNew = next !== null && JSON.stringify(next) !== JSON.stringify(search)
      openProfile = profile
      if (isNew) {
        search = next
        limit = pageSize
        if (box.input.value !== next.q) box.input.value = next.q
        filters.show(next)
        drawLiked()
      }
      if (isNew || !loaded) run()
      else draw()
    },
    search: () => search,
    /** Returns whether the person is in the list. */
    focus(profile: number): boolean {
      const entry = node.querySelector<HTMLElement>(`[data-profile="${profile}"] a`)
      entry?.focus()
      return entry !== null
    },
    close() {
      clearTimeout(typing)
      width.disconnect()
      box.close()
      current.abort()
    },
  }
}
