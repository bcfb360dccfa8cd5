import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import { avatar, el } from './dom.ts'
import { section } from './form.ts'
import { formatPeriod } from './format.ts'
import { link, type Navigation } from './navigation.ts'
import { everybody, type Route } from './router.ts'
import { searchPeople } from './search.ts'
import { ownPhoto } from './storage.ts'

type Reservation = components['schemas']['MyReservation']

/** What is beside the list while nothing is open: offers that wait for an answer, what is agreed, and people. */
export const openOverview = (api: ApiClient, navigation: Navigation) => {
  const current = new AbortController()
  const { signal } = current

  const tile = (kind: string, route: Route, ...parts: HTMLElement[]) =>
    el('li', link(navigation, route, { class: `tile ${kind}` }, ...parts))
  const hint = (text: string) => el('span.hint', text)
  const offer = ({ conversation_id: id, title, date, ends_at, partner }: Reservation) => {
    const when = hint(`${partner.name} · ${formatPeriod(date, ends_at)}`)
    return tile('', { page: 'conversation', id }, el('span.name', title), when)
  }
  const person = ({ id, name, city, country, image_url, interests }: components['schemas']['SearchHit']) => {
    const face = avatar(name, ownPhoto(image_url), 'large')
    const hints = [hint([city, country].filter(Boolean).join(', ')), hint(interests.slice(0, 3).join(' · '))]
    return tile('with-photo', { page: 'profile', id }, face, el('span.name', name), ...hints)
  }
  const part = (title: string, entries: HTMLElement[], ...after: HTMLElement[]) =>
    entries.length === 0 ? [] : [section(title, el('ul.tiles', ...entries), ...after)]
  const load = async () => {
    const from = new Date().toISOString()
    const [me, offers, agreed, found] = await Promise.all([
      dataOf(api.GET('/users/me', { signal })),
      dataOf(api.GET('/users/me/reservations', { params: { query: { status: 'pending' } }, signal })),
      dataOf(api.GET('/users/me/reservations', { params: { query: { status: 'accepted', from } }, signal })),
      searchPeople(api, everybody, 6, signal),
    ])
    if (signal.aborted) return
    const waiting = offers.filter(({ offered_by }) => offered_by !== me.id)
    const all = link(navigation, { page: 'people', search: everybody }, { class: 'more' }, 'Find more people')
    const people = me.Profile.Interests.length ? 'People near to your interests' : 'Some of the people here'
    node.replaceChildren(
      el('h2', `Hello, ${me.name.split(' ')[0]}`),
      // The soonest first: the service lists the latest first.
      ...part('Waiting for your answer', waiting.map(offer).reverse()),
      ...part('Coming up', agreed.map(offer).reverse()),
      ...part(people, found.hits.map(person), all),
    )
  }
  const node = el('div.overview')
  // What is open hides it on a phone, which then asks for nothing.
  const visible = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return
    visible.disconnect()
    load().catch(() => {
      if (!signal.aborted) node.replaceChildren(el('p.empty', 'Choose a conversation.'))
    })
  })
  visible.observe(node)
  return {
    node,
    close() {
      visible.disconnect()
      current.abort()
    },
  }
}
