import { avatar, button, el, visuallyHidden } from './dom.ts'
import { highlight } from './highlight.ts'
import { link, type Navigation } from './navigation.ts'
import type { Hit } from './reason.ts'
import { ownPhoto } from './storage.ts'

export type ShownHit = Hit & { reason: string; isOpen: boolean }

export const renderHit = (hit: ShownHit, navigation: Navigation, onLike: (hit: Hit) => void): HTMLElement => {
  const { id, name, city, country, image_url, reason, isOpen, _rankingScore, _matches = {}, _snippet } = hit
  const place = [city && highlight(city, _matches.city), country && highlight(country, _matches.country)]
    .filter((part) => part !== null && part !== '')
  const current = { 'aria-current': isOpen && 'true' }
  const toProfile = link(navigation, { page: 'profile', id }, current, ...highlight(name, _matches.name))
  const where = el('p.where', ...place.flatMap((part, index) => index > 0 ? [', ', ...part] : part))
  const liked = hit.interests.map((interest, place) =>
    el('li', ...highlight(interest, _matches.interests?.filter(({ index }) => index === place)))
  )
  return el(
    'li.hit',
    { 'data-profile': `${id}` },
    avatar(name, ownPhoto(image_url)),
    el('div.about', el('h3.name', toProfile), where),
    reason && el('p.reason', { title: `Ranking score ${_rankingScore}` }, reason),
    _snippet && el('p.biography', ...highlight(_snippet, _matches._snippet)),
    liked.length > 0 && el('ul.tags', { 'aria-label': 'Interests' }, ...liked),
    button(['More like this', visuallyHidden(` (${name})`)], () => onLike(hit), 'link'),
  )
}
