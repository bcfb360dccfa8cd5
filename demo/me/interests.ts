import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { button, el, setText } from '../dom.ts'
import { section } from '../form.ts'
import { createList } from '../list.ts'
import { errorText } from '../errors.ts'
import type { Interest, Me } from './types.ts'

/** All interests, to be pressed: each change is saved at once, and taken back if it is refused. */
export const interestsSection = (api: ApiClient, me: Me, onSaved: () => void): HTMLElement => {
  let mine = me.Profile.Interests
  let all = mine
  const status = el('p', { class: 'visually-hidden', role: 'status' })
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const chips = el('div', { class: 'chips' })

  const save = async (next: Interest[], said: string) => {
    setText(alert, '')
    const before = mine
    mine = next
    draw()
    try {
      const body = { interest_ids: next.map(({ id }) => id) }
      mine = (await dataOf(api.PUT('/users/profile/interests', { body }))).Interests
      setText(status, said)
      onSaved()
    } catch (error) {
      mine = before
      setText(alert, errorText(error))
    }
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
  const list = createList<Interest & { isMine: boolean }>(
    chips,
    ({ id }) => `${id}`,
    ({ isMine, ...interest }) =>
      button(interest.name, () => toggle(interest, isMine), 'chip', { 'aria-pressed': `${isMine}` }),
  )
  const draw = () => list(all.map((one) => ({ ...one, isMine: mine.some(({ id }) => id === one.id) })))
  draw()
  dataOf(api.GET('/users/interests')).then((interests) => {
    all = interests
    draw()
  }, (error) => setText(alert, errorText(error)))
  return section(
    'Interests',
    el('p', { class: 'hint' }, 'Press what you like. Others find you by it.'),
    chips,
    status,
    alert,
  )
}
