import { inject } from 'vitest'
import { asAdmin, call, openConversation, type Person, seededInterests, sendMessage, signUp } from '../tools/people.ts'

/** Three users with conversations, and a hidden one whose texts and e-mail address no answer may contain. */
export const makeFixture = async () => {
  const { secretKey, publishableKey } = inject('stack')
  const users: Person[] = []
  for (const name of ['Ana', 'Ben', 'Cat']) users.push(await signUp(name, { is_searchable: true, city: 'Lisbon' }))
  const [ana, ben, cat] = users as [Person, Person, Person]
  const secret = `unspoken${Date.now()}`
  const texts = { bio: `${secret} bio`, biography: `${secret} biography`, is_searchable: false }
  const hidden = await signUp('Hidden', texts)
  const hiddenConversation = await openConversation(hidden, await signUp('Friend'))
  const hiddenMessage = await sendMessage(hidden, hiddenConversation, `${secret} words`)
  const [withBen, withCat] = [await openConversation(ana, ben), await openConversation(cat, ana)]
  const messages: number[] = []
  for (let count = 0; count < 5; count++) {
    for (const id of [withBen, withCat]) messages.push((await sendMessage(ana, id, `From Ana ${count}`)).id)
  }
  // Of each status, because a repeated step succeeds; several that can still change.
  const stay = { conversation_id: withBen, title: 'A walk', price: 20 }
  const date = new Date(Date.now() + 86_400_000).toISOString()
  const statuses = ['pending', 'accepted', 'declined', 'cancelled', 'completed'].flatMap((one) => Array(6).fill(one))
  const { body: reservations } = await asAdmin(
    'POST',
    'reservations',
    statuses.map((status) => ({ ...stay, date, status })),
  )
  const [dan, eve] = [await signUp('Dan'), await signUp('Eve')]
  const toAna = await sendMessage(dan, await openConversation(dan, ana), 'From Dan')
  const login = { email: ana.email, password: ana.password }
  // A refresh token works once; reuse revokes its session.
  const sessions = await Promise.all(Array.from({ length: 6 }, () => call('POST', '/auth/login', login)))
  // Always searchable; requests may hide the users whose tokens are used.
  const searchable = await signUp('Searchable', { is_searchable: true })
  return {
    /** Texts of the hidden user. */
    secrets: [secret, hidden.email],
    tokens: [ana.token, ben.token, cat.token, sessions[0]!.body.access_token as string],
    // None of the callers, because nobody can open a conversation with themselves.
    users: [dan.id, eve.id],
    profiles: [...users.map(({ profileId }) => profileId), hidden.profileId, searchable.profileId],
    conversations: [withBen, withCat, hiddenConversation],
    messages: [...messages, hiddenMessage.id],
    /** Messages that none of the callers has sent. */
    reportable: [toAna.id, hiddenMessage.id],
    interests: (await seededInterests()).slice(0, 30).map(({ id }) => id),
    reservations: reservations.map(({ id }: { id: number }) => id) as number[],
    /** Takes part in all of the conversations. */
    host: ana.id,
    apiKeys: [publishableKey, secretKey, ''],
    secretKey,
    /** Valid bodies that the schema alone cannot generate, by operation. */
    bodies: {
      'POST /auth/login': [login],
      'POST /auth/refresh': sessions.slice(1).map(({ body }) => ({ refresh_token: body.refresh_token })),
    } as Record<string, unknown[]>,
    /** The token of a user whom DELETE /users/me may delete. */
    disposableToken: (await signUp('Disposable')).token,
  }
}
export type Fixture = Awaited<ReturnType<typeof makeFixture>>
