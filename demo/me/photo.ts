import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { openDialog } from '../dialog.ts'
import { avatar, button, el } from '../dom.ts'
import { openOutcome, section } from '../form.ts'
import { type Files, ownPhoto, photoRules, refusalOfFile } from '../storage.ts'
import { openCrop } from './crop.ts'
import type { Me } from './types.ts'

/** The photo. A refused one leaves the old one in place. */
export const photoSection = (
  api: ApiClient,
  files: Files,
  me: Me,
  signal: AbortSignal,
  onPhoto: (url: string | null) => void,
): HTMLElement => {
  const face = el('span.face')
  const { nodes, attempt } = openOutcome()
  const show = (url: string | null) => {
    face.replaceChildren(avatar(me.name, ownPhoto(url), 'large'))
    remove.hidden = url === null
  }
  const set = async (image_url: string | null) => {
    const next = await dataOf(api.PATCH('/users/profile', { body: { image_url } }))
    show(next.Profile.image_url)
    onPhoto(next.Profile.image_url)
    return image_url ? 'Your photo was changed.' : 'Your photo was removed.'
  }
  /** Cuts the photo out and uploads it. The dialog stays while that fails, to try again. */
  const cut = async (file: File) => {
    const refusal = refusalOfFile(file, photoRules)
    if (refusal) throw new Error(refusal)
    const crop = await openCrop(file)
    const bar = el('progress', { max: '1', 'aria-label': 'Upload', hidden: true })
    const upload = async () => {
      bar.value = 0
      bar.hidden = false
      try {
        const address = await files.uploadPhoto(await crop.toFile(), (part) => bar.value = part)
        // Whoever has cancelled meanwhile keeps the old photo.
        if (!bar.isConnected) return
        const said = await set(address)
        await attempt(() => Promise.resolve(said))
      } finally {
        bar.hidden = true
      }
    }
    openDialog('Your photo', [...crop.parts, bar], 'Use this photo', upload, signal)
    return ''
  }
  const pick = () => {
    const file = input.files?.[0]
    // The same file can be picked again.
    input.value = ''
    if (file) attempt(() => cut(file))
  }
  const input = el('input', { type: 'file', accept: photoRules.types.join(','), hidden: true, change: pick })
  const choose = button('Choose a photo', () => input.click())
  const remove = button('Remove the photo', () => attempt(() => set(null)), 'quiet')
  show(me.Profile.image_url)
  const hint = 'JPEG, PNG or WebP. You choose a square of it. Everybody who sees your profile sees it.'
  const controls = el('div', el('p.hint', hint), el('div.actions', choose, remove), input)
  return section('Photo', el('div.portrait', face, controls), ...nodes)
}
