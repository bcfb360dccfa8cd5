import type { SupabaseClient } from '@supabase/supabase-js'
import { openChips } from './chips.ts'
import { avatar, el, setText } from './dom.ts'
import { pluralize } from './format.ts'
import { createList } from './list.ts'
import { messageOf, request } from './request.ts'

interface Hit {
  id: number
  user_id: number
  name: string
  biography: string | null
  city: string | null
  country: string | null
  interests: string[]
  _rankingScore: number
}
interface SearchResult {
  hits: Hit[]
  estimatedTotalHits: number
}

// Debounce while the user types.
const typingDelay = 200
const pageSize = 20
const maxHits = 100

/** Search as you type, by words, meaning, interests and cities. */
export const openPeople = (supabase: SupabaseClient, openWith: (user: number) => Promise<void>) => {
  const closed = new AbortController()
  let currentSearch = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let limit = pageSize
  let loaded = false

  const scheduleSearch = (milliseconds = 0) => {
    clearTimeout(timer)
    limit = pageSize
    timer = setTimeout(search, milliseconds)
  }
  const query = (): string => {
    const parameters = new URLSearchParams({ limit: `${limit}` })
    if (input.value.trim()) parameters.set('q', input.value)
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
      const { hits, estimatedTotalHits } = await request<SearchResult>(supabase, query(), { signal })
      if (signal.aborted) return
      show(hits)
      setText(alert, '')
      found.textContent = hits.length ? pluralize(estimatedTotalHits, 'person', 'people') : 'No results'
      more.hidden = hits.length < limit || hits.length >= Math.min(estimatedTotalHits, maxHits)
    } catch (error) {
      if (!signal.aborted) setText(alert, messageOf(error))
    } finally {
      if (!signal.aborted) node.removeAttribute('aria-busy')
    }
  }
  /** Fills the filters: the user's own interests, then all others, and the cities with the most people. */
  const loadFilters = async () => {
    const { signal } = closed
    const [all, { Profile }, { hits }] = await Promise.all([
      request<{ name: string }[]>(supabase, 'users/interests', { signal }),
      request<{ Profile: { Interests: { name: string }[] } }>(supabase, 'users/me', { signal }),
      request<SearchResult>(supabase, `users/search?limit=${maxHits}`, { signal }),
    ])
    interests.setNames([...new Set([...Profile.Interests, ...all].map(({ name }) => name))])
    const people = new Map<string, number>()
    for (const { city } of hits) if (city) people.set(city, (people.get(city) ?? 0) + 1)
    cities.setNames([...people].sort(([, some], [, others]) => others - some).map(([city]) => city))
  }

  const render = (hit: Hit): HTMLElement => {
    const { user_id, name, biography, city, country, _rankingScore } = hit
    const error = el('p', { class: 'notice', role: 'alert', hidden: true })
    const writeTo = el('button', {
      type: 'button',
      class: 'small',
      'aria-label': `Write to ${name}`,
      click: () => openWith(user_id).catch((thrown) => setText(error, messageOf(thrown))),
    }, 'Write')
    return el(
      'li',
      { class: 'hit' },
      avatar(name),
      el(
        'div',
        { class: 'about' },
        el('h3', { class: 'name' }, name),
        el('p', { class: 'where' }, [city, country].filter(Boolean).join(', ')),
      ),
      el('span', { class: 'score', title: `Ranking score ${_rankingScore}` }, `${Math.round(_rankingScore * 100)} %`),
      writeTo,
      biography && el('p', { class: 'biography' }, biography),
      hit.interests.length > 0 &&
        el(
          'ul',
          { class: 'tags', 'aria-label': 'Interests' },
          ...hit.interests.map((interest) => el('li', {}, interest)),
        ),
      error,
    )
  }

  const input = el('input', {
    type: 'search',
    placeholder: 'jazz, ceramics, cooking…',
    autocomplete: 'off',
    maxlength: '512',
    input: () => scheduleSearch(typingDelay),
  })
  const interests = openChips('Interests', scheduleSearch)
  const cities = openChips('Cities', scheduleSearch)
  const found = el('p', { class: 'found', role: 'status' })
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
    el('label', { class: 'field' }, el('span', {}, 'Search people'), input),
    interests.node,
    cities.node,
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
      loadFilters().catch((error) => {
        loaded = false
        if (!closed.signal.aborted) setText(alert, messageOf(error))
      })
    },
    close() {
      clearTimeout(timer)
      closed.abort()
      currentSearch.abort()
    },
  }
}
