import { button, el, setText } from './dom.ts'
import { errorText } from './errors.ts'

/** A label with its control below it. */
export const field = (label: string, control: HTMLElement, hint = ''): HTMLElement =>
  el('label.field', label, control, hint && el('span.hint', hint))

/**
 * Asks in a modal dialog. `submit` sends the request; while it fails the dialog stays open and shows why. The focus
 * returns to where it was. The signal closes the dialog with the page that it belongs to.
 */
export const openDialog = (
  title: string,
  fields: HTMLElement[],
  action: string,
  submit: () => Promise<unknown>,
  signal: AbortSignal,
  dismissal = 'Cancel',
): void => {
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const confirm = el('button.strong', action)
  const cancel = button(dismissal, () => close(), 'quiet')
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    confirm.disabled = true
    try {
      await submit()
      close()
    } catch (error) {
      setText(alert, errorText(error))
    } finally {
      confirm.disabled = false
    }
  }
  const form = el('form', { submit: onSubmit }, el('h3', title), ...fields, alert, el('div.actions', cancel, confirm))
  const focused: HTMLElement[] = []
  for (let node = document.activeElement; node instanceof HTMLElement; node = node.parentElement) focused.push(node)
  const close = () => dialog.close()
  const onClose = () => {
    signal.removeEventListener('abort', close)
    dialog.remove()
    // What asked may have been drawn anew meanwhile.
    focused.find((node) => node.isConnected && node.tabIndex >= 0)?.focus()
  }
  // Escape closes the dialog and not the conversation behind it.
  const keydown = (event: KeyboardEvent) => event.stopPropagation()
  const dialog = el('dialog', { 'aria-label': title, close: onClose, keydown }, form)
  signal.addEventListener('abort', close)
  document.body.append(dialog)
  dialog.showModal()
}
