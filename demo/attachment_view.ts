import type { Attachment } from '../clients/inbox.ts'
import { openDialog } from './dialog.ts'
import { button, el, icon } from './dom.ts'
import { formatSize } from './format.ts'
import type { Files } from './storage.ts'
import { loadThumbnail } from './thumbnail.ts'

/** From this size on a picture is looked at for a smaller one, in bytes. */
const large = 2 ** 17

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
  const { name, size, mime_type } = attachment
  let address: string | null = null
  let thumbnail: Blob | null = null
  const forget = ({ target }: Event) => URL.revokeObjectURL((target as HTMLImageElement).src)
  const onError = () => {
    // The small picture may be none, as whoever sends it likes.
    if (thumbnail && address) image.src = address
    else picture.replaceWith(file)
    thumbnail = null
  }
  const image = el('img', { alt: name, error: onError, load: forget })
  const open = async () => {
    const src = thumbnail ? URL.createObjectURL(thumbnail) : image.src
    const whole = el('img.whole', { src, alt: name, load: forget })
    openDialog(name, [whole, el('p.hint', formatSize(size))], 'Save', save, signal, 'Close')
    // The small picture stays until all of it has arrived, and without a connection.
    const all = /^http/.test(image.src) ? null : await files.addressOf(attachment.url)
    if (all) el('img', { src: all, load: () => whole.src = all })
  }
  const picture = button(image, open, 'plain picture', { title: 'See all of it' })
  const show = async () => {
    address = await files.addressOf(attachment.url)
    if (!address) return onError()
    const mayHaveOne = mime_type === 'image/jpeg' && size > large
    thumbnail = mayHaveOne ? await loadThumbnail(address).catch(() => null) : null
    image.src = thumbnail ? URL.createObjectURL(thumbnail) : address
  }
  show()
  return el('span.attachment', picture, failure)
}
