import { button, el } from '../demo/dom.ts'
import { dataApi } from './api.ts'
import { empty, moment, openView, personLink, tag, type View } from './view.ts'

interface Entry {
  id: number
  action: string
  report_id: number | null
  user_id: number
  by_whom: string
  note: string | null
  created_at: string
  person: { name: string }
}

const pageSize = 50

const item = ({ action, report_id, user_id, person, by_whom, note, created_at }: Entry): HTMLElement => {
  const report = report_id !== null && `, report ${report_id}`
  const what = el('p', tag(action), ' ', personLink(user_id, person.name), report)
  return el('li.card', what, note && el('p.quote', note), el('p.hint', moment(created_at), ` by ${by_whom}`))
}

/** What admins did, the latest first; of one person with ?person=. */
export const openLog = (query: URLSearchParams): View => {
  const person = Number(query.get('person')) || 0
  const before = Number(query.get('before')) || 0
  const all = person ? [el('p.filter', `About person ${person} only.`, el('a', { href: '#log' }, 'Show all'))] : []
  return openView(all, async () => {
    const conditions = (person ? `&user_id=eq.${person}` : '') + (before ? `&id=lt.${before}` : '')
    const path = `moderation_log?select=*,person:users(name)&order=id.desc&limit=${pageSize}${conditions}`
    const entries = await dataApi<Entry[]>('GET', path)
    const next = new URLSearchParams({ ...(person && { person: `${person}` }), before: `${entries.at(-1)?.id}` })
    const older = entries.length === pageSize ? button('Older', () => location.hash = `log?${next}`) : null
    return entries.length ? [el('ol.loaded', ...entries.map(item)), older] : [empty('Nothing was done.')]
  })
}
