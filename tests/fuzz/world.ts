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
  const { body } = await call('POST', '/auth/login', { email: ana.email, password: ana.password })
  return {
    world: {
      tokens: [ana.token, ben.token, cat.token, body.access_token],
      // Nobody opens a conversation with themselves, so the callers are not among them.
      users: [(await signUp('Dan')).id, (await signUp('Eve')).id],
      profiles: [...people.map(({ profileId }) => profileId), hidden.profileId],
      conversations: [...conversations, theirs],
      messages: [...messages.map(({ id }) => id), unheard.id],
      interests,
      keys: [publishableKey, secretKey, ''],
      doomed: (await signUp('Doomed')).token,
    },
    secrets: [mark, hidden.email],
  }
}
