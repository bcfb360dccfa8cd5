import { el, setText, uniqueId } from './dom.ts'
import { errorText, refusalOf } from './errors.ts'

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** A control with its label, a hint, and room for why it was refused. */
export const formField = (label: string, control: Control, hint = '') => {
  const id = uniqueId('field')
  const error = el('span.error', { id: `${id}-error`, role: 'alert', hidden: true })
  const note = el('span.hint', { id: `${id}-hint` }, hint)
  note.hidden = hint === ''
  control.id = id
  control.setAttribute('aria-describedby', `${id}-hint ${id}-error`)
  return {
    control,
    node: el('div.field', el('label', { for: id }, label), control, note, error),
    setError(text: string) {
      setText(error, text)
      control.setAttribute('aria-invalid', `${text !== ''}`)
    },
  }
}
type Field = ReturnType<typeof formField>

/** A checkbox as a switch, with a sentence that says what it means. */
export const formSwitch = (label: string, sentence: string, checked: boolean, change: () => void = () => {}) => {
  const id = uniqueId('field')
  const described = { id, 'aria-describedby': `${id}-hint` }
  const control = el('input', { type: 'checkbox', role: 'switch', checked, change, ...described })
  const note = el('span.hint', { id: `${id}-hint` }, sentence)
  return { control, node: el('div.switch', control, el('label', { for: id }, label), note) }
}

/**
 * A form whose refusals appear at their fields, by the names that the service has for them, and otherwise below. What
 * was typed stays.
 */
export const openForm = (
  byName: Record<string, Field>,
  parts: Node[],
  save: () => Promise<unknown>,
  action = 'Save',
  said = '',
): HTMLElement => {
  const status = el('span.hint', { role: 'status' }, said)
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const button = el('button.strong', action)
  let isSaving = false
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isSaving) return
    isSaving = true
    button.ariaDisabled = 'true'
    status.textContent = ''
    setText(alert, '')
    for (const field of Object.values(byName)) field.setError('')
    try {
      await save()
      status.textContent = 'Saved.'
    } catch (error) {
      const { field, text } = refusalOf(error)
      byName[field]?.setError(text)
      byName[field]?.control.focus()
      if (!byName[field]) setText(alert, errorText(error))
    }
    button.ariaDisabled = 'false'
    isSaving = false
  }
  const input = () => status.textContent = ''
  return el('form.fields', { submit, input, novalidate: true }, ...parts, alert, el('div.row', button, status))
}

/** Says what came of the tasks of a part of a page: each resolves to what is said then. */
export const openOutcome = () => {
  const status = el('p.hint', { role: 'status', hidden: true })
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const attempt = async (task: () => Promise<string>): Promise<void> => {
    setText(alert, '')
    setText(status, '')
    await task().then((said) => setText(status, said), (error) => setText(alert, errorText(error)))
  }
  return { nodes: [status, alert], attempt }
}

/** A part of a page under a heading. */
export const section = (title: string, ...children: (Node | string | null | false)[]): HTMLElement =>
  el('section', { 'aria-label': title }, el('h3', title), ...children)
