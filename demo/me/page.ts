import { backButton, el } from '../dom.ts'
import { link } from '../navigation.ts'
import { openNotice, skeleton } from '../notices.ts'
import { dataOf } from '../../clients/api_client.ts'
import { errorText } from '../errors.ts'
import type { Session } from '../session.ts'
import { accountSection } from './account.ts'
import { aboutSection } from './about.ts'
import { blocksSection, reportsSection } from './blocks.ts'
import { interestsSection } from './interests.ts'
import { notificationsSection } from './notifications.ts'
import { photoSection } from './photo.ts'
import { visibilitySection } from './visibility.ts'
import { warningsSection } from '../warnings.ts'

/** What the header shows of the user, when it was saved. */
export interface OwnChange {
  name?: string
  photo?: string | null
}

interface Dependencies extends Session {
  onBack: () => void
  onMe: (change: OwnChange) => void
}

/** The user's own profile and settings. */
export const openMe = (dependencies: Dependencies) => {
  const { supabase, api, files, navigation, onBack, onMe } = dependencies
  const closed = new AbortController()
  const heading = el('h2', { tabindex: '-1' }, 'Your profile')
  const header = el('header.chat-bar', backButton(onBack), heading)
  const notice = openNotice()
  const body = el('div.page-body', notice.node, skeleton(3))
  const node = el('article.page.me', header, body)

  const load = async () => {
    const { signal } = closed
    notice.show('')
    try {
      const [me, settings, blocks, reports, { data }] = await Promise.all([
        dataOf(api.GET('/users/me', { params: { query: { more: true } }, signal })),
        dataOf(api.GET('/users/me/notifications', { signal })),
        dataOf(api.GET('/users/me/blocks', { signal })),
        dataOf(api.GET('/users/me/reports', { signal })),
        supabase.auth.getSession(),
      ])
      if (signal.aborted) return
      header.append(link(navigation, { page: 'profile', id: me.Profile.id }, { class: 'end-link' }, 'As others see it'))
      const sections = [
        photoSection(api, files, me, closed.signal, (photo) => onMe({ photo })),
        interestsSection(api, me, () => onMe({})),
        visibilitySection(api, me, () => onMe({})),
        aboutSection(api, me, (name) => onMe({ name })),
        notificationsSection(api, settings),
        blocksSection(api, blocks),
        reportsSection(reports),
        warningsSection(me),
        accountSection(dependencies, me, signal, data.session?.user.created_at),
      ]
      body.replaceChildren(...sections.filter((part) => part !== null))
    } catch (error) {
      if (signal.aborted) return
      body.replaceChildren(notice.node)
      notice.show(errorText(error), { 'Try again': load })
    }
  }
  load()

  return {
    node,
    title: () => 'Your profile',
    focus: () => heading.focus({ preventScroll: true }),
    close: () => closed.abort(),
  }
}
