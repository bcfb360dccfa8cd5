import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { button, el, icon, setText, uniqueId, visuallyHidden } from '../dom.ts'
import { formField, section } from '../form.ts'
import { errorText } from '../errors.ts'
import type { Interest, Me } from './types.ts'

/** The interests: each change is saved at once, and taken back if it is refused. */
export const interestsSection = (api: ApiClient, me: Me): HTMLElement => {
  let mine = me.Profile.Interests
  let all: Interest[] = []
  const status = el('p', { class: 'visually-hidden', role: 'status' })
  const chips = el('ul', { class: 'tags', 'aria-label': 'Your interests' })
  const options = el('datalist', { id: uniqueId('interests') })
  const input = el('input', { list: options.id, autocomplete: 'off', placeholder: 'Jazz, hiking…' })
  const field = formField('Add an interest', input)

  const save = async (next: Interest[], said: string) => {
    field.setError('')
    const before = mine
    mine = next
    draw()
    try {
      const body = { interest_ids: next.map(({ id }) => id) }
      const { Interests } = await dataOf(api.PUT('/users/profile/interests', { body }))
      mine = Interests
      setText(status, said)
    } catch (error) {
      mine = before
      field.setError(errorText(error))
    }
    draw()
  }
  // One after the other: each save replaces the whole list.
  let saving = Promise.resolve()
  const change = (edit: (before: Interest[]) => Interest[], said: string) => {
    saving = saving.then(() => save(edit(mine), said))
  }
  const draw = () => {
    chips.replaceChildren(
      ...mine.map(({ id, name }) => {
        const remove = () => {
          change((before) => before.filter((other) => other.id !== id), `${name} was removed`)
          input.focus()
        }
        return el('li', {}, name, button([icon('close'), visuallyHidden(`Remove ${name}`)], remove, 'quiet'))
      }),
    )
    chips.hidden = mine.length === 0
    const others = all.filter(({ id }) => !mine.some((one) => one.id === id))
    options.replaceChildren(...others.map(({ name }) => el('option', { value: name })))
  }
  const add = (event: Event) => {
    event.preventDefault()
    const typed = input.value.trim().toLocaleLowerCase()
    if (!typed) return
    const found = all.find(({ name }) => name.toLocaleLowerCase() === typed)
    if (!found) return field.setError(`There is no interest “${input.value.trim()}”. Choose one of the list.`)
    input.value = ''
    if (mine.some(({ id }) => id === found.id)) return field.setError(`You have ${found.name} already.`)
    change((before) => [...before.filter(({ id }) => id !== found.id), found], `${found.name} was added`)
  }
  draw()
  dataOf(api.GET('/users/interests')).then((interests) => {
    all = interests
    draw()
  }, (error) => field.setError(errorText(error)))
  return section(
    'Interests',
    chips,
    el('form', { class: 'fields adding', submit: add }, field.node, el('button', {}, 'Add')),
    options,
    status,
  )
}
