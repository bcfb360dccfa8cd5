import { inject } from 'vitest'
import { type Answer, call, converse, type Person, say, seededInterests, signUp } from '../tools/people.ts'
import type { World } from './arbitraries.ts'

/** Three people who talk to each other, and a fourth who keeps to herself and whose secrets no answer may tell. */
export const makeWorld = async (): Promise<{ world: World; secrets: string[] }> => {
  const { secretKey, publishableKey } = inject('stack')
  const people: Person[] = []
  for (const name of ['Ana', 'Ben', 'Cat']) people.push(await signUp(name, { is_searchable: true, city: 'Lisbon' }))
  const [ana, ben, cat] = people as [Person, Person, Person]
  const mark = `unspoken${Date.now()}`
  const hidden = await signUp('Hidden', { bio: `${mark} bio`, biography: `${mark} biography`, is_searchable: false })
  const friend = await signUp('Friend')
  const theirs = await converse(hidden, friend)
  const unheard = await say(hidden, theirs, `${mark} words`)
  const conversations = [await converse(ana, ben), await converse(cat, ana)]
  const messages: Answer['body'][] = []
  for (let count = 0; count < 5; count++) {
    messages.push(
      await say(ana, conversations[0]!, `From Ana ${count}`),
      await say(ana, conversations[1]!, `To Cat ${count}`),
    )
  }
  const interests = (await seededInterests()).slice(0, 30).map(({ id }) => id)
  const login = { email: ana.email, password: ana.password }
  const { body } = await call('POST', '/auth/login', login)
  // Each is good for one session, which whoever uses it twice loses.
  const sessions = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/auth/login', login)))
  // Whom nobody hides, as those may be who have a token here.
  const shown = await signUp('Shown', { is_searchable: true })
  return {
    world: {
      tokens: [ana.token, ben.token, cat.token, body.access_token],
      // Nobody opens a conversation with themselves, so the callers are not among them.
      users: [(await signUp('Dan')).id, (await signUp('Eve')).id],
      profiles: [...people.map(({ profileId }) => profileId), hidden.profileId, shown.profileId],
      conversations: [...conversations, theirs],
      messages: [...messages.map(({ id }) => id), unheard.id],
      interests,
      keys: [publishableKey, secretKey, ''],
      secretKey,
      bodies: {
        'POST /auth/login': [login],
        'POST /auth/refresh': sessions.map((session) => ({ refresh_token: session.body.refresh_token })),
      },
      doomed: (await signUp('Doomed')).token,
    },
    secrets: [mark, hidden.email],
  }
}
