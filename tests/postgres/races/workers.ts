import { expect } from 'vitest'
import { device, nobodyWaits, waits } from './fixture.ts'
import { admin, by } from './meet.ts'
import type { Races } from './all.ts'

export const workerRaces = ({ ask, askAs, meet, people, openTalk, pair, profileOf }: Races) => {
  const rewrite = (profile: number, biography: string) =>
    admin`update public.profiles set biography = ${biography} where id = ${profile}`
  let words = 0
  const newWord = () => `zorb${String(words++).replace(/\d/g, (digit) => 'abcdefghij'[+digit]!)}`
  const sweep = () => ask`select private.sweep_lexicon()`
  const listed = (word: string) => ask`select word from private.search_lexicon where word = ${word}`
  /** A profile, and nothing else in the queues of the workers. */
  const addProfile = async (): Promise<number> => {
    const [ana] = await people(1)
    const profile = await profileOf(ana)
    await ask`delete from private.embedding_queue where (kind, id) <> ('profile', ${profile})`
    return profile
  }
  const show = (profile: number, is: boolean) =>
    admin`update public.profiles set is_searchable = ${`${is}`}::boolean where id = ${profile}`
  const claim = (newest: boolean, stop = '') =>
    by(null, stop)`private.claim_embeddings('a model', 1, ${`${newest}`}::boolean)`

  return {
    'a change never undoes that somebody hides at the same time': async () => {
      for (const isFirst of [true, false]) {
        const [ana] = await people(1)
        const profile = await profileOf(ana)
        const hide = admin`update public.users set is_active = false where id = ${ana}`
        const change = rewrite(profile, 'Written meanwhile')
        await meet(isFirst ? [hide, change] : [change, hide], waits)
        expect(await ask`select from private.search_entries where profile_id = ${profile}`).toEqual([])
      }
    },
    'changes of two profiles to the same new words do not wait for each other': async () => {
      const [one, other, word, second] = [await addProfile(), await addProfile(), newWord(), newWord()]
      await meet([rewrite(one, `${word} ${second}`), rewrite(other, `${second} ${word}`)], nobodyWaits)
      expect(await listed(word)).toEqual([word, word])
      await sweep()
      expect(await listed(word)).toEqual([word])
    },
    'words are added to the lexicon without waiting for a profile that is being changed': async () => {
      const profile = await addProfile()
      await ask`insert into private.search_lexicon_queue values (${profile})`
      await meet([rewrite(profile, 'Sea'), admin`private.drain_lexicon_queue(null)`], nobodyWaits)
    },
    'no word is added to the lexicon that its profile has just lost': async () => {
      const [profile, word] = [await addProfile(), newWord()]
      await ask`update public.profiles set biography = ${word} where id = ${profile}`
      await ask`delete from private.search_lexicon where word = ${word}`
      await ask`insert into private.search_lexicon_queue values (${profile}) on conflict do nothing`
      await meet([
        by(null, 'add_to_lexicon')`private.drain_lexicon_queue(null)`,
        rewrite(profile, 'Sea'),
      ], { ...waits, meanwhile: sweep })
      await sweep()
      expect(await listed(word)).toEqual([])
    },
    'a word that one profile loses and another gets stays in the lexicon': async () => {
      const [one, other, word] = [await addProfile(), await addProfile(), newWord()]
      for (const biography of [word, 'Sea']) {
        await ask`update public.profiles set biography = ${biography} where id = ${one}`
      }
      await meet([rewrite(other, word), admin`private.sweep_lexicon()`], waits)
      expect(await listed(word)).toEqual([word])
    },
    'a second audit returns what the last one found, and does not wait': async () => {
      await ask`select private.audit_search_index()`
      await ask`update private.search_audit set amount = 7`
      const audit = admin`private.audit_search_index()`
      const [, found] = await meet([audit, audit], nobodyWaits)
      expect(found.missing).toBe(7)
    },
    'two workers get different texts to embed, and do not wait': async () => {
      for (const newest of [false, true]) {
        const [ana, ben] = await people(2)
        const ids = [await profileOf(ana), await profileOf(ben)]
        await ask`delete from private.embedding_queue where kind <> 'profile' or id <> all(${`{${ids}}`}::bigint[])`
        const claimed = await meet([claim(newest), claim(newest)], nobodyWaits)
        expect(claimed.flat().map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      }
    },
    'a profile that is shown again during a claim is embedded': async () => {
      const profile = await addProfile()
      await ask`update public.profiles set is_searchable = false where id = ${profile}`
      const again = show(profile, true)
      const [jobs] = await meet([
        claim(false, 'update embedding_queue'),
        { ...again, text: `${again.text}; update private.embedding_queue set due_at = now() - interval '1 hour'` },
      ], nobodyWaits)
      expect(jobs).toMatchObject([{ id: profile }])
      expect(await ask`select attempts from private.embedding_queue`).toEqual([1])
    },
    'a profile that is hidden during a claim is not embedded': async () => {
      const profile = await addProfile()
      const [jobs] = await meet([claim(false, 'update embedding_queue'), show(profile, false)], nobodyWaits)
      expect(jobs).toEqual([])
      expect(await ask`select from private.embedding_queue`).toEqual([])
    },
    'two workers tell a person once, and do not wait': async () => {
      await ask`select private.adopt_outbox_settings(0, false)`
      const { ana, talk } = await pair()
      await ask`delete from private.outbox`
      await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
      const plan = admin`private.plan_notifications(10, true, true)`
      expect(await meet([plan, plan], nobodyWaits)).toEqual([1, 0])
    },
    'two workers get different rows to send, and do not wait': async () => {
      await ask`select private.adopt_outbox_settings(0, true)`
      await ask`delete from private.outbox`
      const [ana, ben, cleo] = await people(3)
      const talks = [await openTalk(ana, ben), await openTalk(ben, cleo)]
      const claimed = await meet([admin`private.claim_webhooks(1)`, admin`private.claim_webhooks(1)`], nobodyWaits)
      expect(claimed.map(([{ data }]) => data.id)).toEqual(talks)
    },
    'whoever is erased while the worker plans is told nothing': async () => {
      await ask`select private.adopt_outbox_settings(0, false)`
      const { ana, ben, talk } = await pair()
      await ask`delete from private.outbox`
      await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
      await meet([
        by(null, 'insert silences')`private.plan_notifications(10, true, true)`,
        by(ben)`api.erase_me()`,
      ], waits)
      expect(await ask`select from private.outbox where user_id = ${ben}`).toEqual([])
    },
    'a push to a device that is gone, of somebody who is being erased, stops neither': async () => {
      const { ana, talk } = await pair()
      const id = crypto.randomUUID()
      await askAs(ana)`api.put_device(${id}, ${device()})`
      const [push] = await ask`
        insert into private.outbox (channel, event, conversation_id, first_id, subject_id, user_id, device_id, due_at)
        values ('push', 'message.created', ${talk}, 1, 1, ${ana}, ${id}, now()) returning id`
      await meet([
        by(ana, 'update users')`api.erase_me()`,
        admin`private.finish_outbox(${[{ id: push, outcome: 'gone' }]})`,
      ], waits)
    },
    'the purge of rate limits does not wait for somebody who uses one': async () => {
      const consume = admin`private.consume_rate_limit('RATE_LIMIT_SEND', 'somebody', 1, 1)`
      await ask`select private.consume_rate_limit('RATE_LIMIT_SEND', 'somebody', 1, 1)`
      await ask`update private.rate_limits set tat = now() - interval '1 hour'`
      await meet([consume, admin`private.purge_rate_limits()`], nobodyWaits)
      expect(await ask`select from private.rate_limits where tat > now()`).toHaveLength(1)
    },
  }
}
