import type { ApiClient } from '../clients/api_client.ts'
import type { ListedConversation } from '../clients/inbox.ts'
import { addPhoto, avatar } from './dom.ts'
import { findHit } from './find_profile.ts'
import { ownPhoto } from './storage.ts'

type Partner = ListedConversation['Voyager']

/**
 * The faces of the people with whom the user talks. The list of conversations has no photos and costs no more for them:
 * each is searched for once, by name, when its row is first on the screen. The search finds only people who show their
 * profile; of whom the list gives no address (erased, blocked) nothing is asked.
 */
export const openFaces = (api: ApiClient) => {
  const closed = new AbortController()
  const photos = new Map<number, string | null>()
  const loads = new Map<number, Promise<void>>()
  const partners = new WeakMap<Element, Partner>()
  let last = Promise.resolve()

  const read = async (partner: Partner) => {
    if (closed.signal.aborted) return
    try {
      const hit = await findHit(api, partner, 10, closed.signal)
      photos.set(partner.id, hit && ownPhoto(hit.image_url))
    } catch {
      // Offline, or the service is busy: asked again when the row is drawn again.
      loads.delete(partner.id)
    }
  }
  /** One after the other, so that what the user searches for does not wait behind all of them. */
  const load = (partner: Partner): Promise<void> => {
    const loading = loads.get(partner.id) ?? (last = last.then(() => read(partner)))
    loads.set(partner.id, loading)
    return loading
  }
  const visible = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const partner = partners.get(target)
      if (!isIntersecting || !partner) continue
      visible.unobserve(target)
      load(partner).then(() => addPhoto(target, photos.get(partner.id) ?? null))
    }
  })

  return {
    /** The avatar of a partner, with the photo as soon as it is known. */
    of(partner: Partner): HTMLElement {
      if (partner.email === '') return avatar(partner.name)
      const node = avatar(partner.name, photos.get(partner.id))
      if (photos.has(partner.id)) return node
      partners.set(node, partner)
      visible.observe(node)
      return node
    },
    close() {
      visible.disconnect()
      closed.abort()
    },
  }
}

export type Faces = ReturnType<typeof openFaces>
