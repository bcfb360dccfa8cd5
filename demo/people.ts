import type { SupabaseClient } from '@supabase/supabase-js'
import { openChips } from './chips.ts'
import { avatar, el, setText } from './dom.ts'
import { pluralize } from './format.ts'
import { highlight, type Match } from './highlight.ts'
import { createList } from './list.ts'
import { messageOf, request } from './request.ts'
import { openSearchBox } from './search_box.ts'

interface Hit {
  id: number
  user_id: number
  name: string
  biography: string | null
  city: string | null
  country: string | null
  interests: string[]
  _rankingScore: number
  _matches: Record<string, Match[]>
  _snippet: string | null
}
interface SearchResult {
  hits: Hit[]
  estimatedTotalHits: number
  facetDistribution: Record<'interests' | 'city', Record<string, number>>
  _suggestion: { query: string } | null
}

// Debounce while the user types.
const typingDelay = 200
const pageSize = 20
const maxHits = 100

/** Search as you type, by words, meaning, interests and cities, or for people like one of those found. */
export const openPeople = (supabase: SupabaseClient, openWith: (user: number) => Promise<void>) => {
  let currentSearch = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let completionTimer: ReturnType<typeof setTimeout> | undefined
  let limit = pageSize
  let loaded = false
  let liked: Hit | null = null

  const scheduleSearch = (milliseconds = 0) => {
    clearTimeout(timer)
    limit = pageSize
    timer = setTimeout(search, milliseconds)
  }
  const onType = () => {
    scheduleSearch(typingDelay)
    clearTimeout(completionTimer)
    completionTimer = setTimeout(() => box.complete(), typingDelay)
  }
  const query = (): string => {
    const parameters = new URLSearchParams({
      limit: `${limit}`,
      facets: 'interests,city',
      highlight: 'true',
      suggest: 'true',
    })
    if (box.input.value.trim()) parameters.set('q', box.input.value)
    if (liked) parameters.set('like', `${liked.id}`)
    if (interests.chosen.size) parameters.set('filterInterests', [...interests.chosen].join(','))
    if (cities.chosen.size) parameters.set('filterCity', [...cities.chosen].join(','))
    return `users/search?${parameters}`
  }
  const search = async () => {
    // The response of an earlier search must not replace that of this one.
    currentSearch.abort()
    currentSearch = new AbortController()
    const { signal } = currentSearch
    node.setAttribute('aria-busy', 'true')
    try {
      const { hits, estimatedTotalHits, facetDistribution, _suggestion } = await request<SearchResult>(
        supabase,
        query(),
        { signal },
      )
      if (signal.aborted) return
      show(hits)
      interests.setCounts(facetDistribution.interests)
      cities.setCounts(facetDistribution.city)
      suggest(_suggestion?.query)
      setText(alert, '')
      found.textContent = hits.length ? pluralize(estimatedTotalHits, 'person', 'people') : 'No results'
      more.hidden = hits.length < limit || hits.length >= Math.min(estimatedTotalHits, maxHits)
    } catch (error) {
      if (!signal.aborted) setText(alert, messageOf(error))
    } finally {
      if (!signal.aborted) node.removeAttribute('aria-busy')
    }
  }
  const suggest = (query: string | undefined) => {
    suggestion.hidden = query === undefined
    if (query === undefined) return suggestion.replaceChildren()
    const take = () => {
      box.input.value = query
      box.input.focus()
      scheduleSearch()
    }
    suggestion.replaceChildren(
      'Did you mean ',
      el('button', { type: 'button', class: 'link', click: take }, query),
      '?',
    )
  }
  const setLiked = (hit: Hit | null) => {
    liked = hit
    banner.hidden = !hit
    banner.replaceChildren(...hit ? [`People like ${hit.name} `, clear] : [])
    scheduleSearch()
    ;(hit ? clear : box.input).focus()
  }

  const render = (hit: Hit): HTMLElement => {
    const { user_id, name, city, country, _rankingScore, _matches, _snippet } = hit
    const error = el('p', { class: 'notice', role: 'alert', hidden: true })
    const writeTo = el('button', {
      type: 'button',
      class: 'small',
      'aria-label': `Write to ${name}`,
      click: () => openWith(user_id).catch((thrown) => setText(error, messageOf(thrown))),
    }, 'Write')
    const like = el('button', {
      type: 'button',
      class: 'small link',
      'aria-label': `More people like ${name}`,
      click: () => setLiked(hit),
    }, 'More like this')
    const place = [city && highlight(city, _matches.city), country && highlight(country, _matches.country)]
      .filter((part) => part !== null && part !== '')
    return el(
      'li',
      { class: 'hit' },
      avatar(name),
      el(
        'div',
        { class: 'about' },
        el('h3', { class: 'name' }, ...highlight(name, _matches.name)),
        el('p', { class: 'where' }, ...place.flatMap((part, index) => index > 0 ? [', ', ...part] : part)),
      ),
      el('span', { class: 'score', title: `Ranking score ${_rankingScore}` }, `${Math.round(_rankingScore * 100)} %`),
      writeTo,
      _snippet && el('p', { class: 'biography' }, ...highlight(_snippet, _matches._snippet)),
      hit.interests.length > 0 &&
        el(
          'ul',
          { class: 'tags', 'aria-label': 'Interests' },
          ...hit.interests.map((interest, place) =>
            el('li', {}, ...highlight(interest, _matches.interests?.filter(({ index }) => index === place)))
          ),
        ),
      like,
      error,
    )
  }

  const box = openSearchBox(supabase, onType, scheduleSearch)
  const interests = openChips('Interests', scheduleSearch)
  const cities = openChips('Cities', scheduleSearch)
  const found = el('p', { class: 'found', role: 'status' })
  const suggestion = el('p', { class: 'suggestion', role: 'status', hidden: true })
  const clear = el('button', { type: 'button', class: 'link', click: () => setLiked(null) }, 'Show everybody')
  const banner = el('p', { class: 'liked', hidden: true })
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const hits = el('ul', { class: 'hits' })
  const more = el('button', {
    type: 'button',
    class: 'quiet',
    hidden: true,
    click: () => {
      limit = Math.min(limit + pageSize, maxHits)
      search()
    },
  }, 'More people')
  const node = el(
    'div',
    { class: 'panel' },
    box.node,
    suggestion,
    interests.node,
    cities.node,
    banner,
    found,
    alert,
    hits,
    more,
  )
  const show = createList<Hit>(hits, ({ id }) => `${id}`, render)

  return {
    node,
    /** Runs the first search; called when the tab is first shown. */
    load() {
      if (loaded) return
      loaded = true
      search()
    },
    close() {
      clearTimeout(timer)
      clearTimeout(completionTimer)
      box.close()
      currentSearch.abort()
    },
  }
}
