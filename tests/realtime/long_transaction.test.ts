import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { openConversation, signUp } from '../tools/people.ts'
import { connect, join } from '../tools/realtime.ts'
import { eventually } from '../tools/wait.ts'

const url = process.env.TEST_DATABASE_URL

// On PGlite no transaction stays open, because it has one session.
test.skipIf(!url)('the rows of a transaction that was open for minutes arrive, all and in order', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation = await openConversation(ana, ben)
  const received: number[] = []
  const replies: unknown[] = []
  const channel = (await connect(ana.token)).channel(`user:${ana.id}`, { config: { private: true } })
  channel.on('system', {}, (reply) => replies.push(reply))
  channel.on(
    'postgres_changes',
    { event: 'INSERT', schema: 'public', table: 'messages', filter: `conversation_id=eq.${conversation}` },
    (change) => received.push(change.new.id),
  )
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  await eventually(() => replies.length > 0)

  const sql = postgres(url!, { max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  const written = await sql.begin(async (long) => {
    const rows = await long`
      insert into public.messages (conversation_id, user_id, content)
      select ${conversation}, ${ben.id}, 'Message ' || n from generate_series(1, 250) as n
      returning id`
    // As if the rows had been written minutes before the commit.
    await long`
      update local_realtime.changes set changed_at = changed_at - interval '5 minutes'
      where record ->> 'conversation_id' = ${`${conversation}`}`
    return rows.map(({ id }) => Number(id))
  })
  await eventually(() => received.length >= written.length, 20)
  expect(received).toEqual(written)
})
