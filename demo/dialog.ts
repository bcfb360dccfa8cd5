import { el, setText } from './dom.ts'
import { errorText } from './request.ts'

/** A label with its control below it. */
export const field = (label: string, control: HTMLElement, hint = ''): HTMLElement =>
  el('label', { class: 'field' }, label, control, hint && el('span', { class: 'hint' }, hint))

/**
 * Asks in a modal dialog. `submit` sends the request; while it fails the dialog stays open and shows why. The focus
 * returns to where it was.
 */
export const openDialog = (
  title: string,
  fields: HTMLElement[],
  action: string,
  submit: () => Promise<unknown>,
): void => {
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const button = el('button', { class: 'strong' }, action)
  const cancel = el('button', { type: 'button', class: 'quiet', click: () => dialog.close() }, 'Cancel')
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    button.disabled = true
    try {
      await submit()
      dialog.close()
    } catch (error) {
      setText(alert, errorText(error))
    } finally {
      button.disabled = false
    }
  }
  const form = el(
    'form',
    { submit: onSubmit },
    el('h3', {}, title),
    ...fields,
    alert,
    el('div', { class: 'actions' }, cancel, button),
  )
  const focused = document.activeElement
  const dialog = el('dialog', {
    'aria-label': title,
    close: () => {
      dialog.remove()
      if (focused instanceof HTMLElement) focused.focus()
    },
    // Escape closes the dialog and not the conversation behind it.
    keydown: (event: KeyboardEvent) => event.stopPropagation(),
  }, form)
  document.body.append(dialog)
  dialog.showModal()
}
