import type { Attachment } from '../clients/inbox.ts'
import { openDialog } from './dialog.ts'
import { button, el, icon } from './dom.ts'
import { formatSize } from './format.ts'
import type { Files } from './storage.ts'

export const isPhoto = (attachment?: Attachment | null): boolean => attachment?.mime_type.startsWith('image/') ?? false

const label = ({ name, size }: Attachment, place = ''): HTMLElement[] => [
  el('span.file-name', name),
  el('span.file-size', `${formatSize(size)}${place}`),
]

/** A file on another host is only a link: loading it would tell that host who reads the conversation, and when. */
const foreign = (attachment: Attachment): HTMLElement => {
  const url = URL.parse(attachment.url)
  if (url?.protocol !== 'https:') return el('span.file', icon('file'), ...label(attachment))
  return el(
    'a.file',
    { href: url.href, rel: 'noopener noreferrer', target: '_blank' },
    icon('file'),
    ...label(attachment, ` · ${url.host}`),
  )
}

/**
 * A picture is shown, and in full when it is pressed; everything else is a button that saves the file, as is a picture
 * that this browser cannot read. The signal closes what is open.
 */
export const showAttachment = (attachment: Attachment, files: Files, signal: AbortSignal): HTMLElement => {
  if (/^https:/i.test(attachment.url)) return foreign(attachment)
  // The address holds for ten minutes, so it is asked for when it is needed.
  const save = async () => {
    const address = await files.addressOf(attachment.url)
    failure.hidden = address !== null
    if (!address) return
    el('a', { href: `${address}&download=${encodeURIComponent(attachment.name)}` }).click()
  }
  const failure = el('span', { role: 'alert', hidden: true }, 'The file cannot be read now.')
  const file = button([icon('file'), ...label(attachment)], save, 'file')
  if (!isPhoto(attachment)) return el('span.attachment', file, failure)
  const { name } = attachment
  const isUnreadable = () => picture.replaceWith(file)
  const image = el('img', { alt: name, error: isUnreadable })
  const open = () => {
    const whole = el('img.whole', { src: image.src, alt: name })
    openDialog(name, [whole, el('p.hint', formatSize(attachment.size))], 'Save', save, signal, 'Close')
  }
  const picture = button(image, open, 'plain picture', { title: 'See all of it' })
  files.addressOf(attachment.url).then((address) => address ? image.src = address : isUnreadable())
  return el('span.attachment', picture, failure)
}
