import type { SupabaseClient } from '@supabase/supabase-js'
import { avatar, el, icon, setText, visuallyHidden } from './dom.ts'
import { menuItem, openMenu } from './menu.ts'
import { openNotice, skeleton } from './notices.ts'
import { errorText, request, RequestError } from './request.ts'
import { openBlock, openReport } from './safety.ts'
import { ownPhoto } from './storage.ts'

/** A profile as everybody may see it. */
interface PublicProfile {
  /** The user's id. */
  id: number
  name: string
  profile: {
    id: number
    age: number | null
    biography: string | null
    city: string | null
    country: string | null
    image_url: string | null
    interests: { id: number; name: string }[]
  }
}

interface Dependencies {
  supabase: SupabaseClient
  id: number
  /** Whether the reader has a conversation with this user, and whether this user is the reader. */
  relationTo: (user: number) => 'stranger' | 'partner' | 'self'
  onWrite: (user: number) => Promise<void>
  onInterest: (interest: string) => void
  onEdit: () => void
  onBack: () => void
  onTitle: () => void
}

const refusals: Record<number, string> = {
  403: 'This profile is not shown: whoever it belongs to has hidden it, or does not use the service any more.',
  404: 'There is no such person here.',
}

/** Somebody's profile, before one writes to them. */
export const openProfile = (
  { supabase, id, relationTo, onWrite, onInterest, onEdit, onBack, onTitle }: Dependencies,
) => {
  let name = ''
  const closed = new AbortController()
  const back = el(
    'button',
    { type: 'button', class: 'quiet back', click: onBack },
    icon('back'),
    visuallyHidden('Back'),
  )
  const heading = el('h2', { tabindex: '-1' }, 'Profile')
  const header = el('header', { class: 'chat-bar' }, back, heading)
  const hint = el('p', { class: 'hint', role: 'status', hidden: true })
  const missing = el('p', { class: 'empty', role: 'status', hidden: true })
  const notice = openNotice()
  const body = el('div', { class: 'profile-body' }, skeleton(1))
  const node = el(
    'article',
    { class: 'page profile' },
    header,
    el('div', { class: 'page-body' }, hint, notice.node, missing, body),
  )

  const show = ({ id: user, name, profile }: PublicProfile) => {
    const { age, biography, city, country, image_url, interests } = profile
    const relation = relationTo(user)
    const write = async () => {
      notice.show('')
      await onWrite(user).catch((error) => notice.show(errorText(error), { 'Try again': write }))
    }
    const button = relation === 'self'
      ? el('button', { type: 'button', class: 'strong', click: onEdit }, 'Change your profile')
      : el(
        'button',
        { type: 'button', class: 'strong', click: write },
        relation === 'partner' ? 'Open the conversation' : 'Write',
        visuallyHidden(relation === 'partner' ? ` with ${name}` : ` to ${name}`),
      )
    const notify = (text: string) => setText(hint, text)
    const person = { id: user, name }
    if (relation !== 'self') {
      header.append(openMenu('More', () => [
        menuItem('Report…', () => openReport(supabase, person, notify)),
        menuItem('Block…', () => openBlock(supabase, person, notify)),
      ]))
    }
    heading.replaceChildren('Profile', visuallyHidden(` of ${name}`))
    const place = [city, country].filter(Boolean).join(', ')
    body.replaceChildren(
      el(
        'div',
        { class: 'portrait' },
        avatar(name, ownPhoto(image_url), 'large'),
        el(
          'div',
          {},
          el('p', { class: 'name' }, name),
          place !== '' && el('p', { class: 'where' }, place),
          age !== null && el('p', { class: 'where' }, `${age} years old`),
        ),
        button,
      ),
      el('h3', {}, 'About'),
      el('p', { class: 'text' }, biography ?? `${name} has not written anything yet.`),
      el('h3', {}, 'Interests'),
      interests.length
        ? el(
          'ul',
          { class: 'tags' },
          ...interests.map(({ name: interest }) => {
            const title = `Find people with the interest ${interest}`
            return el('li', {}, el('button', { type: 'button', title, click: () => onInterest(interest) }, interest))
          }),
        )
        : el('p', { class: 'text' }, 'None so far.'),
    )
  }
  const load = async () => {
    notice.show('')
    try {
      const profile = await request<PublicProfile>(supabase, `users/${id}`, { signal: closed.signal })
      if (closed.signal.aborted) return
      name = profile.name
      show(profile)
      onTitle()
    } catch (error) {
      if (closed.signal.aborted) return
      body.replaceChildren()
      const refusal = error instanceof RequestError ? refusals[error.status] : undefined
      setText(missing, refusal ?? '')
      if (!refusal) notice.show(errorText(error), { 'Try again': load })
    }
  }
  load()

  return {
    id,
    node,
    title: () => name || 'Profile',
    focus: () => heading.focus({ preventScroll: true }),
    close: () => closed.abort(),
  }
}
