import { dataOf } from '../clients/api_client.ts'
import { ServiceError } from '../clients/errors.ts'
import type { components } from '../clients/openapi.ts'
import { avatar, backButton, button, el, setText, visuallyHidden } from './dom.ts'
import { type firstMessages, openFirstMessage } from './first_message.ts'
import { menuItem, openMenu } from './menu.ts'
import type { Navigation } from './navigation.ts'
import { openNotice, skeleton } from './notices.ts'
import { errorText } from './errors.ts'
import { formatTime, isZone } from './format.ts'
import { everybody } from './router.ts'
import { openBlock, openReport } from './safety.ts'
import type { Session } from './session.ts'
import { ownPhoto } from './storage.ts'

type PublicProfile = components['schemas']['PublicProfile']

/**
 * What the user of a profile is to its reader; unknown until the reader's conversations have loaded, unmet without an
 * account.
 */
export type Relation = 'unknown' | 'unmet' | 'stranger' | 'partner' | 'self'

/** What the button says, and with whom to screen readers. */
const labels: Record<Relation, [label: string, to: string]> = {
  unknown: ['', ''],
  unmet: ['Log in to write', ' to'],
  stranger: ['Write', ' to'],
  partner: ['Open the conversation', ' with'],
  self: ['Change your profile', ''],
}

interface Dependencies extends Pick<Session, 'api' | 'navigation'> {
  id: number
  relationTo: (user: number) => Relation
  /** Calls the listener when a relation may have changed, until the returned function is called. */
  subscribe: (listener: () => void) => () => void
  /** Without an account only onLogIn is there, with one all but that. */
  drafts?: () => ReturnType<typeof firstMessages>
  /** Opens the conversation with a user, with a first message or none. */
  onWrite?: (user: number, text: string) => Promise<void>
  onLogIn?: () => void
  onBack: () => void
  onTitle: () => void
}

const refusals: Record<number, string> = {
  403: 'This profile is not shown: whoever it belongs to has hidden it, or does not use the service any more.',
  404: 'There is no such person here.',
}

/** The face, with a line for each thing to know at once. */
const portraitOf = ({ name, profile, answers, languages, time_zone }: PublicProfile, action: Node): HTMLElement => {
  const { age, city, country, image_url } = profile
  const now = new Date().toISOString()
  const there = formatTime(now, time_zone && isZone(time_zone) ? time_zone : undefined)
  const lines = [
    [city, country].filter(Boolean).join(', '),
    there !== formatTime(now) && `${there} there now`,
    age !== null && `${age} years old`,
    languages && `Speaks ${languages}`,
    answers && `Usually answers ${answers}`,
  ].filter(Boolean)
  const about = el('div', el('p.name', name), ...lines.map((line) => el('p.where', line)))
  return el('div.portrait', avatar(name, ownPhoto(image_url), 'large'), about, action)
}

/** The interests, each of which leads to whoever shares it. */
const interestsOf = ({ profile: { interests } }: PublicProfile, navigation: Navigation): HTMLElement => {
  const entry = ({ name }: { name: string }) => {
    const findPeople = () => navigation.go({ page: 'people', search: { ...everybody, interests: [name] } })
    return el('li', button(name, findPeople, '', { title: `Find people with the interest ${name}` }))
  }
  return interests.length ? el('ul.tags', ...interests.map(entry)) : el('p.text', 'None so far.')
}

/** What the reader can do with the person who is shown: a button, and the first message to a stranger. */
const openActions = (
  { navigation, relationTo, drafts, onWrite, onLogIn }: Dependencies,
  shown: () => PublicProfile | null,
  notice: ReturnType<typeof openNotice>,
) => {
  let relation: Relation = 'unknown'
  let isWriting = false
  const letter = el('div')

  const openConversation = async (person: PublicProfile) => {
    notice.show('')
    await onWrite?.(person.id, '').catch((error) => notice.show(errorText(error)))
  }
  const write = (person: PublicProfile) => {
    if (!drafts || !onWrite) return null
    isWriting = true
    const first = openFirstMessage(person, drafts(), (text) => onWrite(person.id, text))
    letter.replaceChildren(first.node)
    draw()
    return first
  }
  const act = () => {
    const person = shown()
    if (relation === 'unmet') onLogIn?.()
    else if (relation === 'self') navigation.go({ page: 'me' })
    else if (relation === 'partner' && person) openConversation(person)
    else if (person) write(person)?.focus()
  }
  const draw = (): Relation => {
    const person = shown()
    relation = person ? relationTo(person.id) : 'unknown'
    const isStranger = relation === 'stranger'
    if (person && isStranger && !isWriting && drafts?.().of(person.id)) write(person)
    letter.hidden = !isStranger
    action.hidden = relation === 'unknown' || isStranger && isWriting
    const [label, to] = labels[relation]
    action.replaceChildren(label, visuallyHidden(to && `${to} ${person?.name}`))
    return relation
  }
  const action = button('', act, 'strong')
  return { button: action, letter, draw }
}

/** Somebody's profile, before one writes to them. */
export const openProfile = (dependencies: Dependencies) => {
  const { api, id, navigation, subscribe, onBack, onTitle } = dependencies
  let shown: PublicProfile | null = null
  const closed = new AbortController()
  const { signal } = closed
  const heading = el('h2', { tabindex: '-1' }, 'Profile')
  const notify = (text: string) => setText(hint, text)
  // Hidden until somebody is shown.
  const menu = openMenu('More', () => [
    menuItem('Report…', () => openReport(api, shown!, notify, signal)),
    menuItem('Block…', () => openBlock(api, shown!, notify, signal)),
  ])
  const header = el('header.chat-bar', backButton(onBack), heading, menu)
  const hint = el('p.hint', { role: 'status', hidden: true })
  const missing = el('p.empty', { role: 'status', hidden: true })
  const notice = openNotice()
  const body = el('div.profile-body', skeleton(1))
  const node = el('article.page.profile', header, el('div.page-body', hint, notice.node, missing, body))
  const actions = openActions(dependencies, () => shown, notice)

  const drawActions = () => {
    menu.hidden = ['unknown', 'unmet', 'self'].includes(actions.draw())
  }
  const show = (person: PublicProfile) => {
    const { name, profile: { biography } } = person
    heading.replaceChildren('Profile', visuallyHidden(` of ${name}`))
    body.replaceChildren(
      portraitOf(person, actions.button),
      actions.letter,
      el('h3', 'About'),
      el('p.text', biography ?? `${name} has not written anything yet.`),
      el('h3', 'Interests'),
      interestsOf(person, navigation),
    )
  }
  const load = async () => {
    notice.show('')
    const params = { path: { id }, query: { more: true } }
    try {
      const profile = await dataOf(api.GET('/users/{id}', { params, signal }))
      if (signal.aborted) return
      shown = profile
      drawActions()
      show(profile)
      onTitle()
    } catch (error) {
      if (signal.aborted) return
      body.replaceChildren()
      const refusal = error instanceof ServiceError ? refusals[error.status] : undefined
      setText(missing, refusal ?? '')
      if (!refusal) notice.show(errorText(error), { 'Try again': load })
    }
  }
  drawActions()
  const unsubscribe = subscribe(drawActions)
  load()

  return {
    node,
    title: () => shown?.name ?? 'Profile',
    focus: () => heading.focus({ preventScroll: true }),
    close() {
      closed.abort()
      unsubscribe()
    },
  }
}
