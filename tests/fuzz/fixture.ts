import { inject } from 'vitest'
import {
  type Answer,
  asAdmin,
  call,
  openConversation,
  type Person,
  seededInterests,
  sendMessage,
  signUp,
} from '../tools/people.ts'
import type { Fixture } from './arbitraries.ts'

/** Three users with conversations, and a hidden one whose texts and e-mail address no answer may contain. */
export const makeFixture = async (): Promise<{ fixture: Fixture; secrets: string[] }> => {
  const { secretKey, publishableKey } = inject('stack')
  const users: Person[] = []
  for (const name of ['Ana', 'Ben', 'Cat']) users.push(await signUp(name, { is_searchable: true, city: 'Lisbon' }))
  const [ana, ben, cat] = users as [Person, Person, Person]
  const secret = `unspoken${Date.now()}`
  const hidden = await signUp('Hidden', {
    bio: `${secret} bio`,
    biography: `${secret} biography`,
    is_searchable: false,
  })
  const friend = await signUp('Friend')
  const hiddenConversation = await openConversation(hidden, friend)
  const hiddenMessage = await sendMessage(hidden, hiddenConversation, `${secret} words`)
  const conversations = [await openConversation(ana, ben), await openConversation(cat, ana)]
  const messages: Answer['body'][] = []
  for (let count = 0; count < 5; count++) {
    messages.push(
      await sendMessage(ana, conversations[0]!, `From Ana ${count}`),
      await sendMessage(ana, conversations[1]!, `To Cat ${count}`),
    )
  }
  // Of each status, because a repeated step succeeds; several that can still change.
  const date = new Date(Date.now() + 86_400_000).toISOString()
  const { body: reservations } = await asAdmin(
    'POST',
    'reservations',
    [...Array(8).fill('pending'), 'accepted', 'declined', 'cancelled', 'completed'].map((status) => ({
      conversation_id: conversations[0],
      title: 'A walk',
      price: 20,
      date,
      status,
    })),
  )
  const [dan, eve] = [await signUp('Dan'), await signUp('Eve')]
  const toAna = await sendMessage(dan, await openConversation(dan, ana), 'From Dan')
  const interests = (await seededInterests()).slice(0, 30).map(({ id }) => id)
  const login = { email: ana.email, password: ana.password }
  const { body } = await call('POST', '/auth/login', login)
  // A refresh token works once; reuse revokes its session.
  const sessions = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/auth/login', login)))
  // Always searchable; requests may hide the users whose tokens are used.
  const searchable = await signUp('Searchable', { is_searchable: true })
  return {
    fixture: {
      tokens: [ana.token, ben.token, cat.token, body.access_token],
      // None of the callers, because nobody can open a conversation with themselves.
      users: [dan.id, eve.id],
      profiles: [...users.map(({ profileId }) => profileId), hidden.profileId, searchable.profileId],
      conversations: [...conversations, hiddenConversation],
      messages: [...messages.map(({ id }) => id), hiddenMessage.id],
      reportable: [toAna.id, hiddenMessage.id],
      interests,
      reservations: reservations.map(({ id }: { id: number }) => id),
      host: ana.id,
      apiKeys: [publishableKey, secretKey, ''],
      secretKey,
      bodies: {
        'POST /auth/login': [login],
        'POST /auth/refresh': sessions.map((session) => ({ refresh_token: session.body.refresh_token })),
      },
      disposableToken: (await signUp('Disposable')).token,
    },
    secrets: [secret, hidden.email],
  }
}
