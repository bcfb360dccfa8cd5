import { button, el, icon, visuallyHidden } from './dom.ts'
import type { Me } from './me/types.ts'
import { link, type Navigation } from './navigation.ts'

/** What a new person does to be met, above their conversations; hidden once all of it is done. */
export const openFirstSteps = (navigation: Navigation) => {
  const list = el('ol')
  const title = 'Three steps to be met'
  const dismiss = () => {
    localStorage.setItem(key, '')
    node.hidden = true
  }
  const later = button('Not now', dismiss, 'link', { 'aria-label': `Not now: ${title}` })
  const node = el('section.steps', { 'aria-label': title, hidden: true }, el('h3', title), list, later)
  let key = ''
  return {
    node,
    show({ id, Profile: { image_url, Interests, is_searchable } }: Me) {
      const steps = [
        ['Show your face', image_url !== null],
        ['Choose what you like', Interests.length > 0],
        ['Let others find you', is_searchable],
      ] as const
      key = `steps-dismissed-${id}`
      node.hidden = localStorage.getItem(key) !== null || steps.every(([, isDone]) => isDone)
      list.replaceChildren(...steps.map(([text, isDone]) => {
        const done = [icon('sent'), text, visuallyHidden(' (done)')]
        return el('li', ...isDone ? done : [link(navigation, { page: 'me' }, {}, text)])
      }))
    },
  }
}
