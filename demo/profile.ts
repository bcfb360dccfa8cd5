import { dataOf } from '../clients/api_client.ts'
import { ServiceError } from '../clients/errors.ts'
import type { components } from '../clients/openapi.ts'
import { avatar, backButton, button, el, setText, visuallyHidden } from './dom.ts'
import { type firstMessages, openFirstMessage } from './first_message.ts'
import { menuItem, openMenu } from './menu.ts'
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

/** Somebody's profile, before one writes to them. */
export const openProfile = (
  { api, id, navigation, relationTo, subscribe, drafts, onWrite, onLogIn, onBack, onTitle }: Dependencies,
) => {
  let shown: PublicProfile | null = null
  const closed = new AbortController()
  const heading = el('h2', { tabindex: '-1' }, 'Profile')
  const notify = (text: string) => setText(hint, text)
  const menu = openMenu('More', () =>
    shown
      ? [
        menuItem('Report…', () => openReport(api, shown!, notify, closed.signal)),
        menuItem('Block…', () => openBlock(api, shown!, notify, closed.signal)),
      ]
      : [])
  const header = el('header.chat-bar', backButton(onBack), heading, menu)
  const hint = el('p.hint', { role: 'status', hidden: true })
  const missing = el('p.empty', { role: 'status', hidden: true })
  const notice = openNotice()
  const body = el('div.profile-body', skeleton(1))
  const node = el('article.page.profile', header, el('div.page-body', hint, notice.node, missing, body))

  const openConversation = async () => {
    if (!shown) return
    notice.show('')
    await onWrite?.(shown.id, '').catch((error) => notice.show(errorText(error)))
  }
  let isWriting = false
  const letter = el('div')
  const write = () => {
    if (!shown || !drafts || !onWrite) return null
    const person = shown
    isWriting = true
    const first = openFirstMessage(person, drafts(), (text) => onWrite(person.id, text))
    letter.replaceChildren(first.node)
    drawActions()
    return first
  }
  let relation: Relation = 'unknown'
  const action = button('', () => {
    if (relation === 'unmet') onLogIn?.()
    else if (relation === 'self') navigation.go({ page: 'me' })
    else if (relation === 'partner') openConversation()
    else write()?.focus()
  }, 'strong')
  /** Draws what the reader can do with this person. */
  const drawActions = () => {
    relation = shown ? relationTo(shown.id) : 'unknown'
    const isStranger = relation === 'stranger'
    if (shown && isStranger && !isWriting && drafts?.().of(shown.id)) write()
    letter.hidden = !isStranger
    action.hidden = relation === 'unknown' || isStranger && isWriting
    menu.hidden = ['unknown', 'unmet', 'self'].includes(relation)
    const [label, hidden] = {
      unknown: ['', ''],
      unmet: ['Log in to write', ` to ${shown?.name}`],
      stranger: ['Write', ` to ${shown?.name}`],
      partner: ['Open the conversation', ` with ${shown?.name}`],
      self: ['Change your profile', ''],
    }[relation]
    action.replaceChildren(label!, visuallyHidden(hidden!))
  }
  const show = ({ name, profile, answers, languages, time_zone }: PublicProfile) => {
    const { age, biography, city, country, image_url, interests } = profile
    heading.replaceChildren('Profile', visuallyHidden(` of ${name}`))
    const place = [city, country].filter(Boolean).join(', ')
    const now = new Date().toISOString()
    const there = time_zone && isZone(time_zone) ? formatTime(now, time_zone) : formatTime(now)
    body.replaceChildren(
      el(
        'div.portrait',
        avatar(name, ownPhoto(image_url), 'large'),
        el(
          'div',
          el('p.name', name),
          place !== '' && el('p.where', place),
          there !== formatTime(now) && el('p.where', `${there} there now`),
          age !== null && el('p.where', `${age} years old`),
          languages && el('p.where', `Speaks ${languages}`),
          answers && el('p.where', `Usually answers ${answers}`),
        ),
        action,
      ),
      letter,
      el('h3', 'About'),
      el('p.text', biography ?? `${name} has not written anything yet.`),
      el('h3', 'Interests'),
      interests.length
        ? el(
          'ul.tags',
          ...interests.map(({ name: interest }) => {
            const title = `Find people with the interest ${interest}`
            const search = { ...everybody, interests: [interest] }
            return el('li', button(interest, () => navigation.go({ page: 'people', search }), '', { title }))
          }),
        )
        : el('p.text', 'None so far.'),
    )
  }
  const load = async () => {
    notice.show('')
    const params = { path: { id }, query: { more: true } }
    try {
      const profile = await dataOf(api.GET('/users/{id}', { params, signal: closed.signal }))
      if (closed.signal.aborted) return
      shown = profile
      drawActions()
      show(profile)
      onTitle()
    } catch (error) {
      if (closed.signal.aborted) return
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
