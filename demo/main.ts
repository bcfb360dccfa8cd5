import { readConfig } from './config.ts'
import { el } from './dom.ts'
import { openPane } from './pane.ts'
import { messageOf } from './request.ts'

const one = new URLSearchParams(location.search).has('one')
const panes = document.querySelector<HTMLElement>('#panes')!
const switches = document.querySelector<HTMLElement>('#panes-shown')!
const howMany = document.querySelector<HTMLAnchorElement>('#how-many')!

// On a narrow screen one pane is visible at a time, and these buttons switch between them.
const show = (chosen: number) => {
  panes.dataset.shown = `${chosen}`
  for (const [index, button] of [...switches.children].entries()) {
    button.setAttribute('aria-pressed', `${index === chosen}`)
  }
}

const start = async () => {
  const config = await readConfig()
  for (const [index, name] of (one ? ['Only'] : ['First', 'Second']).entries()) {
    const button = el('button', { type: 'button', class: 'pane-switch', click: () => show(index) }, `${name} person`)
    panes.append(openPane(name, index, config, (title) => button.textContent = title))
    if (!one) switches.append(button)
  }
  panes.classList.toggle('one', one)
  if (one) {
    howMany.href = '/demo'
    howMany.textContent = 'Two people'
  }
  show(0)
}

start().catch((error) => panes.append(el('p', { class: 'notice', role: 'alert' }, messageOf(error))))
