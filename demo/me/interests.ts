import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { button, el } from '../dom.ts'
import { openOutcome, section } from '../form.ts'
import { createList } from '../list.ts'
import type { Interest, Me } from './types.ts'

/** All interests, to be pressed: each change is saved at once, and taken back if it is refused. */
export const interestsSection = (api: ApiClient, me: Me, onSaved: () => void): HTMLElement => {
  let mine = me.Profile.Interests
  let all = mine
  const { nodes, attempt } = openOutcome()
  const chips = el('div.chips')

  const save = async (next: Interest[], said: string) => {
    let kept = mine
    mine = next
    draw()
    await attempt(async () => {
      const body = { interest_ids: next.map(({ id }) => id) }
      kept = (await dataOf(api.PUT('/users/profile/interests', { body }))).Interests
      onSaved()
      return said
    })
    mine = kept
    draw()
  }
  // One after the other: each save replaces the whole list.
  let saving = Promise.resolve()
  const toggle = ({ id, name }: Interest, isMine: boolean) => {
    saving = saving.then(() => {
      const others = mine.filter((other) => other.id !== id)
      return save(isMine ? others : [...others, { id, name }], `${name} was ${isMine ? 'removed' : 'added'}`)
    })
  }
  const render = ({ isMine, ...interest }: Interest & { isMine: boolean }) =>
    button(interest.name, () => toggle(interest, isMine), 'chip', { 'aria-pressed': `${isMine}` })
  const list = createList(chips, ({ id }) => `${id}`, render)
  const draw = () => list(all.map((one) => ({ ...one, isMine: mine.some(({ id }) => id === one.id) })))
  draw()
  attempt(async () => {
    all = await dataOf(api.GET('/users/interests'))
    draw()
    return ''
  })
  return section('Interests', el('p.hint', 'Press what you like. Others find you by it.'), chips, ...nodes)
}
