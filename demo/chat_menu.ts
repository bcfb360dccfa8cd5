import type { Conversation } from '../clients/inbox.ts'
import { menuItem, openMenu } from './menu.ts'
import { errorText } from './errors.ts'
import type { Partner } from './partner.ts'
import { openBlock, openReport } from './safety.ts'
import type { Session } from './session.ts'

const eightHours = 8 * 3_600_000

interface Dependencies extends Pick<Session, 'api' | 'states'> {
  conversation: Conversation
  partner: Partner
  showProfile: () => void
  /** Says what has become of it, with a way back if there is one. */
  notify: (text: string, undo?: () => void) => void
  /** Closes the dialogs when the conversation is closed. */
  signal: AbortSignal
}

/** What one can do with a conversation besides writing: pin, mute, archive, report and block. */
export const openChatMenu = ({ api, conversation, states, partner, showProfile, notify, signal }: Dependencies) => {
  const set = (change: Parameters<typeof states.change>[1]) => async () => {
    try {
      await states.change(conversation.id, change)
      if (change.archived) notify('In the archive.', set({ archived: false }))
      else notify('')
    } catch (error) {
      notify(errorText(error))
    }
  }
  return openMenu('More', () => {
    const { archived, muted_until, pinned } = states.of(conversation.id)
    const person = partner.isErased() ? null : partner.person()
    const mute = () => set({ muted_until: new Date(Date.now() + eightHours).toISOString() })()
    return [
      partner.profile() && menuItem('See the profile', showProfile),
      menuItem(pinned ? 'Unpin' : 'Pin to the top', set({ pinned: !pinned })),
      muted_until ? menuItem('Unmute', set({ muted_until: null })) : menuItem('Mute for 8 hours', mute),
      menuItem(archived ? 'Move back to the inbox' : 'Archive', set({ archived: !archived })),
      person && menuItem('Report…', () => openReport(api, person, notify, signal)),
      person && !conversation.view.blocked &&
      menuItem('Block…', () => openBlock(api, person, () => notify(''), signal)),
    ]
  })
}
