import { expect } from 'vitest'
import type { Races } from './fixture.ts'
import { admin, by, device } from './sides.ts'

export const workerRaces = ({ ask, askAs, queue, overtake, people, openTalk, pair, profileOf }: Races) => {
  const rewrite = (profile: number, biography: string) =>
    admin`update public.profiles set biography = ${biography} where id = ${profile}`
  const show = (profile: number, is: boolean) =>
    admin`update public.profiles set is_searchable = ${`${is}`}::boolean where id = ${profile}`
  const count = () => ask`select private.count_words()`
  const listed = (word: string) => ask`select word from private.search_lexicon where word = ${word}`
  let words = 0
  const newWord = () => `zorb${String(words++).replace(/\d/g, (digit) => 'abcdefghij'[+digit]!)}`
  /** Profiles, and nothing else in the queues of the workers. */
  const addProfiles = async (count: number): Promise<[number, number]> => {
    const profiles: number[] = []
    for (const person of await people(count)) profiles.push(await profileOf(person))
    await ask`delete from private.embedding_queue where kind <> 'profile' or id <> all(${`{${profiles}}`}::bigint[])`
    return profiles as [number, number]
  }
  const claim = (newest: boolean, stop = '') =>
    by(null, stop)`private.claim_embeddings('a model', 1, ${`${newest}`}::boolean)`
  /** A message, and nothing else in the outbox. */
  const sendMessage = async () => {
    await ask`select private.adopt_outbox_settings(0, false)`
    const { ana, ben, talk } = await pair()
    await ask`delete from private.outbox`
    await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
    return ben
  }
  const plan = (stop = '') => by(null, stop)`private.plan_notifications(10, true, true)`

  return {
    'a change never undoes that somebody hides at the same time': async () => {
      for (const isFirst of [true, false]) {
        const [ana] = await people(1)
        const profile = await profileOf(ana)
        const sides = [admin`update public.users set is_active = false where id = ${ana}`, rewrite(profile, 'Boats')]
        await queue(...(isFirst ? sides : sides.toReversed()))
        expect(await ask`select from private.search_entries where profile_id = ${profile}`).toEqual([])
      }
    },
    'changes of two profiles to the same new words do not wait for each other': async () => {
      const [[one, other], word, second] = [await addProfiles(2), newWord(), newWord()]
      await overtake(rewrite(one, `${word} ${second}`), rewrite(other, `${second} ${word}`))
      expect(await listed(word)).toEqual([word, word])
      await count()
      expect(await listed(word)).toEqual([word])
    },
    'a word that one profile loses and another gets is in the lexicon after the next count': async () => {
      const [[one, other], word] = [await addProfiles(2), newWord()]
      for (const text of [word, 'Sea']) await ask`update public.profiles set biography = ${text} where id = ${one}`
      await overtake(rewrite(other, word), admin`private.count_words()`)
      await count()
      expect(await listed(word)).toEqual([word])
    },
    'an erasure does not wait for the words that are being counted': async () => {
      const [[profile], word] = [await addProfiles(1), newWord()]
      await ask`update public.profiles set biography = ${word} where id = ${profile}`
      await ask`update public.profiles set biography = 'Sea' where id = ${profile}`
      await overtake(
        admin`update private.search_lexicon set holders = 2 where word = ${word}`,
        admin`select private.forget_words(${`'${word}'`}::tsvector)`,
      )
    },
    'two workers get different texts to embed, and do not wait': async () => {
      for (const newest of [false, true]) {
        const profiles = await addProfiles(2)
        const claimed = await overtake(claim(newest), claim(newest))
        expect(claimed.flat().map(({ id }) => id).toSorted()).toEqual(profiles.toSorted())
      }
    },
    'a profile that is shown again during a claim is embedded': async () => {
      const [profile] = await addProfiles(1)
      await ask`update public.profiles set is_searchable = false where id = ${profile}`
      const { text } = show(profile, true)
      const again = {
        ...admin``,
        text: `${text}; update private.embedding_queue set due_at = now() - interval '1 hour'`,
      }
      const [jobs] = await overtake(claim(false, 'update embedding_queue'), again)
      expect(jobs).toMatchObject([{ id: profile }])
      expect(await ask`select attempts from private.embedding_queue`).toEqual([1])
    },
    'a profile that is hidden during a claim is not embedded': async () => {
      const [profile] = await addProfiles(1)
      const [jobs] = await overtake(claim(false, 'update embedding_queue'), show(profile, false))
      expect([jobs, await ask`select from private.embedding_queue`]).toEqual([[], []])
    },
    'two workers tell a person once, and do not wait': async () => {
      await sendMessage()
      expect(await overtake(plan(), plan())).toEqual([1, 0])
    },
    'two workers get different rows to send, and do not wait': async () => {
      await ask`select private.adopt_outbox_settings(0, true)`
      await ask`delete from private.outbox`
      const [ana, ben, cleo] = await people(3)
      const talks = [await openTalk(ana, ben), await openTalk(ben, cleo)]
      const claimed = await overtake(admin`private.claim_webhooks(1)`, admin`private.claim_webhooks(1)`)
      expect(claimed.map(([{ data }]) => data.id)).toEqual(talks)
    },
    'two workers get different pushes, and do not wait': async () => {
      await ask`select private.adopt_outbox_settings(0, false)`
      const pairs = [await pair(), await pair()]
      await ask`delete from private.outbox`
      for (const { ana, ben, talk } of pairs) {
        await askAs(ben)`api.put_device(${crypto.randomUUID()}, ${device()})`
        await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
      }
      await ask`select private.plan_notifications(10, true, false)`
      const claimed = await overtake(admin`private.claim_pushes(1)`, admin`private.claim_pushes(1)`)
      const talks = claimed.flat().map(({ data }) => data.conversation_id)
      expect(talks.toSorted()).toEqual(pairs.map(({ talk }) => talk).toSorted())
    },
    'whoever is erased while the worker plans is told nothing': async () => {
      const ben = await sendMessage()
      await queue(plan('insert silences'), by(ben)`api.erase_me()`)
      expect(await ask`select from private.outbox where user_id = ${ben}`).toEqual([])
    },
    'a push to a device that is gone, of somebody who is being erased, stops neither': async () => {
      const [{ ana, talk }, id] = [await pair(), crypto.randomUUID()]
      await askAs(ana)`api.put_device(${id}, ${device()})`
      const [push] = await ask`
        insert into private.outbox (channel, event, conversation_id, first_id, subject_id, user_id, device_id, due_at)
        values ('push', 'message.created', ${talk}, 1, 1, ${ana}, ${id}, now()) returning id`
      const finish = admin`private.finish_outbox(${[{ id: push, outcome: 'gone' }]})`
      await queue(by(ana, 'update users')`api.erase_me()`, finish)
    },
    'the purge of rate limits does not wait for somebody who uses one': async () => {
      const consume = admin`private.consume_rate_limit('RATE_LIMIT_SEND', 'somebody', 1, 1)`
      await ask`select private.consume_rate_limit('RATE_LIMIT_SEND', 'somebody', 1, 1)`
      await ask`update private.rate_limits set tat = now() - interval '1 hour'`
      await overtake(consume, admin`private.purge_rate_limits()`)
      expect(await ask`select from private.rate_limits where tat > now()`).toHaveLength(1)
    },
  }
}
