/** When it is quiet, and that nothing is told then. */
import { lisbon, settings } from './devices.ts'
import { equal, sql, test } from './fixture.ts'
import { claimMail, claimPushes, meet, plan, told, waiting } from './outbox.ts'

// By the wall clock of the person's time zone, also on the days on which it changes: from, to, zone, and of moments
// (UTC) until when it is quiet.
type Text = string | null
// deno-fmt-ignore
const nights: [from: Text, to: Text, zone: Text, ...moments: [at: string, until: Text][]][] = [
  ['22:00', '07:00', 'Europe/Lisbon', ['2026-01-10 21:59:59', null], ['2026-01-10 22:00', '2026-01-11 07:00'],
    ['2026-01-11 03:00', '2026-01-11 07:00'], ['2026-01-11 07:00', null],
    // In summer 22:00 is an hour earlier.
    ['2026-07-10 20:59', null], ['2026-07-10 21:00', '2026-07-11 06:00']],
  // Within one day, half an hour off.
  ['13:00', '15:00', 'Asia/Kolkata', ['2026-07-10 08:00', '2026-07-10 09:30'], ['2026-07-10 09:30', null]],
  // 29 March 2026: 02:00 becomes 03:00, so this night has eight hours, and no 02:30.
  ['22:00', '07:00', 'Europe/Berlin', ['2026-03-28 21:00', '2026-03-29 05:00'],
    ['2026-03-29 04:59', '2026-03-29 05:00'], ['2026-03-29 05:00', null],
    // 25 October 2026: 03:00 becomes 02:00, so this night has ten hours.
    ['2026-10-24 20:00', '2026-10-25 06:00'], ['2026-10-25 05:30', '2026-10-25 06:00']],
  ['02:30', '06:00', 'Europe/Berlin', ['2026-03-29 01:30', '2026-03-29 04:00'], ['2026-03-29 01:29', null]],
  // Of two ends the later counts.
  ['22:00', '02:30', 'Europe/Berlin', ['2026-10-25 00:45', '2026-10-25 01:30'], ['2026-10-25 01:30', null]],
  // Spring comes in September there.
  ['22:00', '07:00', 'Pacific/Auckland', ['2026-09-26 17:30', '2026-09-26 18:00']],
  // A time zone that is forgotten is never quiet.
  ['22:00', '07:00', 'Nowhere/Atlantis', ['2026-01-10 23:00', null]],
  [null, null, null, ['2026-01-10 23:00', null]],
]
const minute = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI')`
test('in quiet hours nothing is planned or sent before they end', async () => {
  for (const [from, to, zone, ...moments] of nights) {
    for (const [at, until] of moments) {
      const ends = `select ${minute('private.quiet_until($1, $2, $3, $4)')}`
      equal(await sql(ends, [from, to, zone, `${at}Z`]), [until], `${from} to ${to} ${zone}, ${at}`)
    }
  }
  const { ana, ben, write } = await meet()
  const setClock = (moment: string) => sql(`select tests.pass_time('${moment}Z'::timestamptz - clock_timestamp())`)
  const due = () => sql(`select distinct attempts, ${minute('due_at')} from private.outbox`)
  await ben.patch(settings, { delay_minutes: 0, quiet_hours: lisbon })
  await write(ana)
  await setClock('2027-01-10 23:30')
  equal([await plan(), await waiting(), await due()], [1, { person: 1 }, [[0, '2027-01-11 07:00']]])
  await setClock('2027-01-11 07:00:01')
  await plan()
  equal(await waiting(), told)
  // A late attempt waits again, and was none.
  await sql(`update private.outbox set attempts = 1, due_at = '2027-01-11 22:30Z'`)
  await setClock('2027-01-11 22:30:01')
  equal([await claimPushes(), await claimMail(), await due()], [[], null, [[1, '2027-01-12 07:00']]])
})
