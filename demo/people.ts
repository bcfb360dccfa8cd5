import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { button, el } from './dom.ts'
import { errorText } from './errors.ts'
import { openFound } from './found.ts'
import type { Navigation } from './navigation.ts'
import { openNotice, skeleton } from './notices.ts'
import { openQuery } from './query.ts'
import type { Hit } from './reason.ts'
import { everybody, type Search } from './router.ts'
import { searchPeople } from './search.ts'

const pageSize = 20
const maxHits = 100

/** Says whom the people found are like. */
const openLiked = (api: ApiClient, onClear: () => void) => {
  let liked: number | null = null
  const names = new Map<number, string>()
  const clear = button('Show everybody', onClear, 'link')
  const node = el('p.liked', { hidden: true })
  const say = (name: string) => node.replaceChildren(`People like ${name} `, clear)
  return {
    node,
    focus: () => clear.focus(),
    setNames(hits: Hit[]) {
      for (const { id, name } of hits) names.set(id, name)
    },
    async show(like: number | null) {
      liked = like
      node.hidden = !like
      if (!like) return
      const name = names.get(like)
      say(name || 'one of them')
      if (name) return
      const profile = await dataOf(api.GET('/users/{id}', { params: { path: { id: like } } })).catch(() => null)
      if (!profile) return
      names.set(like, profile.name)
      if (liked === like) say(profile.name)
    },
  }
}

/** Opens the filters where there is room: on a phone, or beside a profile, they would push the people off. */
const openWhereWide = (filters: HTMLDetailsElement, page: HTMLElement): ResizeObserver => {
  let isWide = false
  const width = new ResizeObserver(() => {
    const wasWide = isWide
    isWide = getComputedStyle(page).display === 'grid'
    if (isWide !== wasWide) filters.open = isWide
  })
  width.observe(page)
  return width
}

/** Search as you type, by words, meaning and filters, or for people like one. The search is in the address. */
export const openPeople = (api: ApiClient, navigation: Navigation, { hasAccount } = { hasAccount: true }) => {
  let current = new AbortController()
  let limit = pageSize
  let openProfile: number | null = null

  const run = async () => {
    // The response of an earlier search must not replace that of this one.
    current.abort()
    const { signal } = current = new AbortController()
    const search = query.search()
    node.setAttribute('aria-busy', 'true')
    notice.show('')
    found.wait()
    const result = await searchPeople(api, search, limit, signal).catch((error) => {
      if (signal.aborted) return null
      notice.show(errorText(error), { 'Try again': run, ...(search.like && { 'Show everybody': showEverybody }) })
      return null
    })
    if (signal.aborted) return
    found.set(search, result)
    if (result) {
      liked.setNames(result.hits)
      query.showUnderstood(result)
    } else query.suggest()
    const shown = result?.hits.length ?? 0
    more.hidden = !result || shown < limit || shown >= Math.min(result.estimatedTotalHits, maxHits)
    found.draw(search, openProfile)
    placeholder.hidden = true
    node.removeAttribute('aria-busy')
  }
  const showEverybody = () => query.ask(everybody)
  const onLike = ({ id }: Hit) => {
    query.change({ ...everybody, like: id })
    liked.focus()
  }
  const showMore = () => {
    limit = Math.min(limit + pageSize, maxHits)
    run()
  }

  const query = openQuery(api, navigation, hasAccount, () => node.querySelector<HTMLElement>('.hit a')?.focus())
  const found = openFound(navigation, onLike, showEverybody)
  const liked = openLiked(api, () => query.ask({ like: null }))
  const notice = openNotice()
  const placeholder = skeleton(5)
  const more = button('More people', showMore, 'quiet', { hidden: true })
  const results = el('div.found', liked.node, found.total, notice.node, placeholder, ...found.nodes, more)
  const node = el('div.panel.people', query.node, results)
  const width = openWhereWide(query.filters, node)

  return {
    node,
    /** Shows the people of this search; without one, those of the latest. */
    show(next: Search | null, profile: number | null) {
      const isNew = next !== null && JSON.stringify(next) !== JSON.stringify(query.search())
      openProfile = profile
      if (isNew) {
        limit = pageSize
        query.show(next)
        liked.show(next.like)
      }
      if (isNew || !found.hasLoaded()) run()
      else found.draw(query.search(), openProfile)
    },
    search: query.search,
    /** Returns whether the person is in the list. */
    focus(profile: number): boolean {
      const entry = node.querySelector<HTMLElement>(`[data-profile="${profile}"] a`)
      entry?.focus()
      return entry !== null
    },
    close() {
      query.close()
      width.disconnect()
      current.abort()
    },
  }
}
