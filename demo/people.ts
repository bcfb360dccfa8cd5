import type { SupabaseClient } from '@supabase/supabase-js'
import { ask, wordsOf } from './ask.ts'
import { openChips } from './chips.ts'
import { avatar, el, write } from './dom.ts'
import { openList } from './list.ts'
import { count } from './words.ts'

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
interface Found {
  hits: Hit[]
  estimatedTotalHits: number
}

// Long enough to type the next letter in.
const typingPause = 200
const pageSize = 20
const mostHits = 100

/** Finding people as one types, by words, meaning, interests and cities. */
export const openPeople = (supabase: SupabaseClient, openWith: (user: number) => Promise<void>) => {
  const life = new AbortController()
  let asking = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let limit = pageSize
  let begun = false

  const soon = (milliseconds = 0) => {
    clearTimeout(timer)
    limit = pageSize
    timer = setTimeout(search, milliseconds)
  }
  const query = (): string => {
    const parameters = new URLSearchParams({ limit: `${limit}` })
    if (words.value.trim()) parameters.set('q', words.value)
    if (interests.chosen.size) parameters.set('filterInterests', [...interests.chosen].join(','))
    if (cities.chosen.size) parameters.set('filterCity', [...cities.chosen].join(','))
    return `users/search?${parameters}`
  }
  const search = async () => {
    // An answer to what is no longer asked must not come after the one to what is.
    asking.abort()
    asking = new AbortController()
    const { signal } = asking
    node.setAttribute('aria-busy', 'true')
    try {
      const { hits, estimatedTotalHits } = await ask<Found>(supabase, query(), { signal })
      if (signal.aborted) return
      show(hits)
      write(problem, '')
      found.textContent = hits.length ? count(estimatedTotalHits, 'person', 'people') : 'Nobody like that'
      more.hidden = hits.length < limit || hits.length >= Math.min(estimatedTotalHits, mostHits)
    } catch (error) {
      if (!signal.aborted) write(problem, wordsOf(error))
    } finally {
      if (!signal.aborted) node.removeAttribute('aria-busy')
    }
  }
  /** What there is to choose from: all interests, one's own first, and the cities where most people are. */
  const readChoices = async () => {
    const { signal } = life
    const [all, { Profile }, { hits }] = await Promise.all([
      ask<{ name: string }[]>(supabase, 'users/interests', { signal }),
      ask<{ Profile: { Interests: { name: string }[] } }>(supabase, 'users/me', { signal }),
      ask<Found>(supabase, `users/search?limit=${mostHits}`, { signal }),
    ])
    interests.offer([...new Set([...Profile.Interests, ...all].map(({ name }) => name))])
    const people = new Map<string, number>()
    for (const { city } of hits) if (city) people.set(city, (people.get(city) ?? 0) + 1)
    cities.offer([...people].sort(([, some], [, others]) => others - some).map(([city]) => city))
  }

  const draw = (hit: Hit): HTMLElement => {
    const { user_id, name, biography, city, country, _rankingScore } = hit
    const refused = el('p', { class: 'notice', role: 'alert', hidden: true })
    const writeTo = el('button', {
      type: 'button',
      class: 'small',
      'aria-label': `Write to ${name}`,
      click: () => openWith(user_id).catch((error) => write(refused, wordsOf(error))),
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
      refused,
    )
  }

  const words = el('input', {
    type: 'search',
    placeholder: 'jazz, ceramics, cooking…',
    autocomplete: 'off',
    maxlength: '512',
    input: () => soon(typingPause),
  })
  const interests = openChips('Interests', soon)
  const cities = openChips('Cities', soon)
  const found = el('p', { class: 'found', role: 'status' })
  const problem = el('p', { class: 'notice', role: 'alert', hidden: true })
  const hits = el('ul', { class: 'hits' })
  const more = el('button', {
    type: 'button',
    class: 'quiet',
    hidden: true,
    click: () => {
      limit = Math.min(limit + pageSize, mostHits)
      search()
    },
  }, 'More people')
  const node = el(
    'div',
    { class: 'panel' },
    el('label', { class: 'field' }, el('span', {}, 'Search people'), words),
    interests.node,
    cities.node,
    found,
    problem,
    hits,
    more,
  )
  const show = openList<Hit>(hits, ({ id }) => `${id}`, draw)

  return {
    node,
    /** Asks for the first time, when it is first looked at. */
    begin() {
      if (begun) return
      begun = true
      search()
      readChoices().catch((error) => {
        begun = false
        if (!life.signal.aborted) write(problem, wordsOf(error))
      })
    },
    close() {
      clearTimeout(timer)
      life.abort()
      asking.abort()
    },
  }
}
