import { el, icon, setText, visuallyHidden } from './dom.ts'
import { formatSize } from './format.ts'
import { attachmentRules, refusalOfFile } from './storage.ts'

/** Chooses the file of the next message and shows how far its upload is. */
export const openPicker = (onPick: () => void) => {
  let file: File | null = null
  let isUploading = false

  const input = el('input', {
    type: 'file',
    hidden: true,
    accept: attachmentRules.types.join(','),
    change: () => {
      const picked = input.files?.[0]
      // The same file can be picked again.
      input.value = ''
      if (!picked) return
      const refusal = refusalOfFile(picked, attachmentRules)
      setText(alert, refusal)
      if (!refusal) set(picked)
      onPick()
    },
  })
  const button = el(
    'button',
    { type: 'button', class: 'quiet round', title: 'Attach a file', click: () => isUploading || input.click() },
    icon('attach'),
    visuallyHidden('Attach a file'),
  )
  const name = el('span', { class: 'file-name' })
  const size = el('span', { class: 'file-size' })
  const bar = el('progress', { max: '1', 'aria-label': 'Upload', hidden: true })
  const remove = el(
    'button',
    {
      type: 'button',
      class: 'quiet',
      click: () => {
        set(null)
        onPick()
      },
    },
    icon('close'),
    visuallyHidden('Remove the file'),
  )
  const chip = el('div', { class: 'file picked', hidden: true }, icon('file'), name, size, bar, remove)
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })

  const set = (next: File | null) => {
    file = next
    isUploading = false
    chip.hidden = !next
    bar.hidden = true
    remove.hidden = false
    name.textContent = next?.name ?? ''
    size.textContent = next ? formatSize(next.size) : ''
  }

  return {
    node: el('div', { class: 'picker' }, chip, alert, input),
    button,
    get file() {
      return file
    },
    /** Shows how much of the file has arrived, from 0 to 1. */
    setProgress(part: number) {
      isUploading = true
      bar.hidden = false
      remove.hidden = true
      bar.value = part
    },
    /** The file stays, so that sending can be tried again. */
    fail(reason: string) {
      set(file)
      setText(alert, reason)
    },
    clear() {
      set(null)
      setText(alert, '')
    },
  }
}
