import { button, el, icon, visuallyHidden } from './dom.ts'
import { formatSize } from './format.ts'
import { openNotice } from './notices.ts'
import { scaledDown } from './pictures.ts'
import { attachmentRules, refusalOfFile } from './storage.ts'

/** Chooses the file of the next message. */
export const openPicker = (onPick: () => void) => {
  let file: File | null = null
  let choices = 0

  const input = el('input', {
    type: 'file',
    hidden: true,
    accept: attachmentRules.types.join(','),
    change: async () => {
      const chosen = input.files?.[0]
      // The same file can be picked again.
      input.value = ''
      if (!chosen) return
      const choice = ++choices
      const picked = await scaledDown(chosen)
      // Another was chosen, or the message sent, while this one was scaled down.
      if (choice !== choices) return
      const refusal = refusalOfFile(picked, attachmentRules)
      alert.show(refusal)
      if (!refusal) set(picked)
      onPick()
    },
  })
  const opener = button([icon('attach'), visuallyHidden('Attach a file')], () => input.click(), 'quiet round', {
    title: 'Attach a file',
  })
  const name = el('span.file-name.clipped')
  const size = el('span.file-size')
  const remove = button([icon('close'), visuallyHidden('Remove the file')], () => {
    set(null)
    onPick()
  }, 'quiet')
  const thumbnail = el('span.thumbnail')
  const chip = el('div.file.picked', { hidden: true }, thumbnail, name, size, remove)
  // What has been written beside the file may not be meant yet.
  const alert = openNotice(true)

  /** A small picture of a picture, and a sign for everything else. */
  const drawThumbnail = (next: File) => {
    const forget = () => URL.revokeObjectURL(image.src)
    const onError = () => image.replaceWith(icon('file'))
    const image = el('img', { src: URL.createObjectURL(next), alt: '', load: forget, error: onError })
    thumbnail.replaceChildren(image)
  }
  const set = (next: File | null) => {
    if (next && file !== next) drawThumbnail(next)
    file = next
    chip.hidden = !next
    name.textContent = next?.name ?? ''
    size.textContent = next ? formatSize(next.size) : ''
  }

  return {
    node: el('div.picker', chip, alert.node, input),
    button: opener,
    get file() {
      return file
    },
    clear() {
      choices++
      set(null)
      alert.show('')
    },
  }
}
