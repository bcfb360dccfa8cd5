/** What becomes of rows of the outbox that fail, wait or have more to tell. */
import { devices, subscribe } from './devices.ts'
import { equal, is, passTime, sql, test } from './fixture.ts'
import { claimMail, claimPushes, clear, dataOf, dead, finish, meet, outbox, planAfter } from './outbox.ts'
import { told, trigger, waiting } from './outbox.ts'

test('a person whose rows make the worker fail stops no others, and is given up after eight tries', async () => {
  const { ana, ben, cleo, ab, write } = await meet()
  const poison = `if new.user_id = ${ana.id} then raise 'poison'; end if`
  await trigger('before insert on private.silences for each row', poison, 'new')
  await ben.post(`${ab}/messages`, { content: 'To Ana' }, 201)
  await write(cleo)
  await planAfter('11 minutes')
  equal([await waiting(), await outbox('attempts, last_error', 'person')], [{ ...told, person: 1 }, [[1, 'P0001']]])
  for (let attempt = 1; attempt <= 8; attempt++) {
    equal(await dead('person'), attempt === 8 ? 1 : 0)
    await planAfter(`${attempt * 5} hours`)
  }
})

test('nothing is claimed for a receiver that is busy, and everything for the others', async () => {
  const { ben, tell } = await meet()
  // Whoever has a name has any number of hosts and ports.
  await subscribe(ben, { endpoint: 'https://a.b.Push.example.:8443/1' }, (await devices(ben))[1].id)
  await tell()
  equal([await claimPushes(['push.example']), await claimPushes([`user ${ben.id}`])], [[], []])
  equal(await claimMail(['tests.example']), null)
  const [first, second] = await devices(ben)
  is(await claimPushes([first.id]), [{ endpoint: second.endpoint }])
  is(await claimMail(['elsewhere.example']), { to: 'ben@tests.example' })
})

test('a dead letter is revived: a push by its conversation, a mail by the next silence', async () => {
  const { ana, tell, write } = await meet()
  await tell()
  await sql(`update private.outbox set attempts = 8, due_at = private.present() + '1 hour'`)
  await tell()
  // The last attempt may still be under way.
  equal(await claimPushes(), [])
  await passTime('80 minutes')
  is([dataOf(await claimPushes()), await claimMail()], [[{ unread: 2 }, { unread: 2 }], null])
  await clear('silences')
  await write(ana)
  await planAfter('100 minutes')
  // What a server refuses for good is a dead letter at once.
  await finish({ id: (await claimMail()).id, outcome: 'refused', reason: 'EENVELOPE 550' })
  equal(await outbox('attempts, last_error', 'mail'), [[8, 'EENVELOPE 550']])
})

test('a push with more to tell meanwhile is sent again, and one to a device that is gone removes it', async () => {
  const { ana, ben, tell } = await meet()
  await ben.delete(`/users/me/devices/${(await devices(ben))[0].id}`)
  await tell(ana, true, false)
  const [{ id, subject }] = await claimPushes()
  await tell(ana, true, false)
  await finish({ id, outcome: 'sent', subject })
  equal(await outbox(`id, attempts, first_id = ${subject + 1}`, 'push'), [[id, 0, true]])
  const [again] = await claimPushes()
  await finish({ id, outcome: 'failed', reason: 'x'.repeat(300), retry_after: 900 })
  const wait = `extract(epoch from due_at - private.present()) between 600 and 900`
  equal(await outbox(`attempts, length(last_error), ${wait}`, 'push'), [[1, 200, true]])
  await sql(`insert into private.outbox (channel, event, due_at) values ('webhook', 'message.created', now())`)
  await subscribe(ben)
  await finish({ id, outcome: 'gone', subject: again.subject })
  equal([await waiting(), (await devices(ben)).length], [{ webhook: 1 }, 1])
  await tell(ana, true, false)
  const [last] = await claimPushes()
  await finish({ ...last, outcome: 'sent' }, { id: 0, outcome: 'sent' })
  equal(await waiting(), { webhook: 1 })
})
