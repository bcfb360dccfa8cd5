import { avatar, el, setText, visuallyHidden } from './dom.ts'
import { openMenu } from './menu.ts'
import { link, type Navigation } from './navigation.ts'
import { ownPhoto } from './storage.ts'

/** The header of a pane: who the user is, how the connection is, and the pages. */
export const openBar = (nameless: string, navigation: Navigation, items: () => (HTMLElement | false)[]) => {
  const face = link(navigation, { page: 'me' }, { class: 'face' })
  const heading = el('h2.clipped', nameless)
  const status = el('p.status', { role: 'status' })
  const nav = el('div.pages')
  const menu = openMenu('Account', items)
  return {
    node: el('header.bar', face, el('div.user', heading, status), nav, menu),
    setPages: (...pages: Node[]) => nav.replaceChildren(...pages),
    setName: (text: string) => heading.textContent = text,
    showUser(name: string, photo: string | null) {
      if (heading.textContent === name && face.dataset.photo === `${photo}`) return
      face.dataset.photo = `${photo}`
      heading.textContent = name
      face.replaceChildren(avatar(name, ownPhoto(photo)), visuallyHidden('Your profile'))
    },
    forgetUser() {
      heading.textContent = nameless
      face.replaceChildren()
      delete face.dataset.photo
    },
    setLoggedIn(isLoggedIn: boolean) {
      face.hidden = menu.hidden = !isLoggedIn
    },
    status: () => status.dataset.status,
    setStatus(now: string, title = '') {
      status.dataset.status = now
      status.title = title
      setText(status, now)
    },
  }
}
