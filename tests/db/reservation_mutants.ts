/**
 * Mutants of every guard of the reservations: each changes one condition of a function, or drops a constraint or
 * trigger, in a transaction that is rolled back. Prints as JSON which mutants neither the pgTAP files about
 * reservations nor the exploration of schedules detected.
 */
import { files, openTestDatabase } from './database.ts'
import { type Change, tryMutants } from './guard_mutants.ts'
import { explore } from './schedules.ts'

/**
 * The text of a function and what it becomes; every text must occur. Conditions that repeat a policy, so that an index
 * is used, are left out.
 */
const changes: Record<string, Change[]> = {
  'private.lock_pair': [
    ['me in (voyager_id, local_id)', 'true'],
  ],
  'private.require_partner': [
    ['private.is_blocked_between(private.my_id(), partner)', 'false'],
    ['where id = partner and is_active', 'where id = partner'],
  ],
  'private.lock_reservation': [
    ['and conversation_id = conversation', ''],
  ],
  'api.offer_reservation': [
    ['reply is not null', 'false'],
    ["'conversation_id', conversation, ", ''],
    [", 'host_id', host,", ','],
    ['host not in (me, partner)', 'false'],
    ['<= private.present()', "< private.present() - interval '1 second'"],
    ["raise sqlstate 'PT400' using message = 'date: must be in the future'", 'null'],
    ['perform private.require_partner(partner)', 'null'],
    ['perform private.require_first_contact(conversation, partner, first_contact_limit)', 'null'],
    ['select local_id from', 'select voyager_id from'],
    ['by_id => me', 'by_id => partner'],
    ['client_id => draft_client_id', 'client_id => null'],
  ],
  'private.find_reply': [
    ['stored.request_hash <> private.hash_request(request)', 'false'],
    ['known.noun = find_reply.noun', 'true'],
    ['known.user_id = me', 'true'],
    ['and known.client_id = find_reply.client_id', ''],
  ],
  'api.counter_reservation': [
    ['perform private.require_partner(partner)', 'null'],
    ["current.status <> 'pending'", 'false'],
    ["current.status <> 'pending'", "current.status not in ('pending', 'accepted')"],
    ['private.settle(locked, moment)', 'locked'],
    ['wanted.date <= moment', 'false'],
    ['wanted is distinct from current', 'true'],
    ['perform private.require_first_contact(conversation, partner, first_contact_limit)', 'null'],
    ['wanted.offered_by := me', 'null'],
    ['by_id => me', 'by_id => null'],
  ],
  'api.step_reservation': [
    ['perform private.require_partner(partner)', 'null'],
    ["if step <> 'cancel' then", 'if true then'],
    ['private.is_blocked_between(me, partner)', 'false'],
    ['current.revision is distinct from step_reservation.revision', 'false'],
    ['current.revision is distinct from step_reservation.revision', 'current.revision < step_reservation.revision'],
    ['current.status = next_status', 'false'],
    ["step = 'complete'\n    or ", ''],
    ["current.status <> 'pending' and not (step = 'cancel' and current.status = 'accepted')", 'false'],
    ["step = 'cancel' and current.status = 'accepted'", "step = 'cancel'"],
    ["step = 'cancel' and current.status = 'accepted'", 'false'],
    ["step = 'cancel' and current.status = 'accepted'", "current.status = 'accepted'"],
    ["step in ('accept', 'decline') and current.offered_by = me", 'false'],
    ["step in ('accept', 'decline') and current.offered_by = me", "step = 'accept' and current.offered_by = me"],
    ["step in ('accept', 'decline') and current.offered_by = me", "step = 'decline' and current.offered_by = me"],
    ["step in ('accept', 'decline') and current.offered_by = me", 'current.offered_by = me'],
    ['current.offered_by = me', 'current.offered_by <> me'],
    ['when exclusion_violation then', 'when division_by_zero then'],
    ['private.settle(locked, moment)', 'locked'],
    ['note => note', 'note => null'],
    ['by_id => me', 'by_id => partner'],
  ],
  'private.cancel_reservations_of': [
    ['person in (conversations.voyager_id, conversations.local_id)', 'person = conversations.voyager_id'],
    ['person in (conversations.voyager_id, conversations.local_id)', 'person = conversations.local_id'],
    ['person in (conversations.voyager_id, conversations.local_id)', 'true'],
    ["and reservations.status in ('pending', 'accepted')\n", "and reservations.status = 'pending'\n"],
    ["and reservations.status in ('pending', 'accepted')\n", "and reservations.status = 'accepted'\n"],
    ['reservation := private.settle(reservation, moment)', 'null'],
    ["continue when reservation.status not in ('pending', 'accepted')", 'null'],
    ['by_id => cancel_reservations_of.by_id', 'by_id => null'],
    ['by_id => cancel_reservations_of.by_id', 'by_id => person'],
  ],
  'private.erase_person': [
    ['perform private.cancel_reservations_of(person, me)', 'null'],
    ['private.cancel_reservations_of(person, me)', 'private.cancel_reservations_of(person, person)'],
    ['delete from private.stored_replies where user_id = person', 'null'],
  ],
  'private.prepare_reservation': [
    ['coalesce(new.host_id, participants[1])', 'new.host_id'],
    ['participants[1]', 'participants[2]'],
    ['new.revision := 1', 'null'],
    [
      '(new.title, new.price, new.date, new.ends_at) is distinct from',
      'true or (new.title, new.price, new.date, new.ends_at) is distinct from',
    ],
    ...['title', 'price', 'date', 'ends_at'].map((column): Change => [
      '(new.title, new.price, new.date, new.ends_at) is distinct from (old.title, old.price, old.date, old.ends_at)',
      ['title', 'price', 'date', 'ends_at'].filter((name) => name !== column)
        .map((name) => `new.${name} is distinct from old.${name}`).join(' or '),
    ]),
    ['not new.host_id = any (participants)', 'false'],
    ['not new.offered_by = any (participants)', 'false'],
    ['new.host_id := case when new.host_id = any (participants) then new.host_id else participants[1] end', 'null'],
    ['new.offered_by := case when new.offered_by = any (participants) then new.offered_by end', 'null'],
    ['case when new.status = old.status then settled.status else new.status end', 'new.status'],
    ['perform private.add_to_history(settled, null, null)', 'null'],
    ['private.add_to_history(settled, null, null)', 'private.add_to_history(old, null, null)'],
    ['new.updated_at := settled.updated_at', 'new.updated_at := moment'],
    ['new.updated_at := moment', 'null'],
    ['new.updated_at := new.created_at', "new.updated_at := new.created_at + interval '1 hour'"],
  ],
  'private.record_reservation': [
    ['step.by_id', 'null'],
    ['step.note', 'null'],
    ['perform private.add_to_history(new, step.by_id, step.note)', 'null'],
  ],
  'private.add_to_history': [
    ['reservation.updated_at', 'private.present()'],
    ['reservation.conversation_id', '(select min(id) from public.conversations)'],
  ],
  'private.protect_history': [
    ["tg_op = 'DELETE'", 'false'],
    ["tg_op = 'DELETE'", 'true'],
    ['not exists (select from public.reservations where id = old.reservation_id)', 'true'],
    ['not exists (select from public.conversations where id = old.conversation_id)', 'true'],
  ],
  'private.status_at': [
    ['<=', '<'],
    ["when 'pending' then 'cancelled'", "when 'pending' then 'completed'"],
    ["else 'completed'", "else 'cancelled'"],
  ],
  'private.settled': [
    ['reservation.due_at <= moment', 'false'],
    ['greatest(reservation.due_at, reservation.updated_at)', 'reservation.updated_at'],
    ['greatest(reservation.due_at, reservation.updated_at)', 'reservation.due_at'],
    ['greatest(reservation.due_at, reservation.updated_at)', 'moment'],
  ],
  'private.settle': [['settled.status = reservation.status', 'true']],
  'private.settle_reservations': [
    ['where due_at <= (select private.present())', 'where true'],
    ['where due_at <= (select private.present())', 'where false'],
    ['settled := settled + 1', 'null'],
  ],
  'private.reservations_of': [
    ['private.status_at(reservations.status, reservations.due_at, moment)', 'reservations.status'],
  ],
  'private.history_of': [
    ['where settled.status <> reservation.status', 'where false'],
    ['where settled.status <> reservation.status', 'where true'],
    ['order by entry.id nulls last', 'order by entry.id nulls first'],
    ['where reservation_id = reservation.id', ''],
  ],
  'private.reservations_with_history': [
    ['where reservations.conversation_id = conversation', 'where true'],
    ['private.settled(reservations, moment)', 'reservations'],
  ],
  'api.get_reservation': [["raise sqlstate 'PT404' using message = 'Reservation not found'", 'null']],
  'api.list_my_reservations': [
    ['and reservations.id < before_id', ''],
    ['reservations.id < before_id', 'reservations.id <= before_id'],
    ['reservations.date >= from_date', 'reservations.date > from_date'],
    ['and reservations.date >= from_date', ''],
    ['reservations.date < to_date', 'reservations.date <= to_date'],
    ['and reservations.date < to_date', ''],
    ['private.status_at(reservations.status, reservations.due_at, moment) = wanted', 'reservations.status = wanted'],
    ['and (wanted is null or ', 'and (true or '],
    ['private.settled(mine.entry, moment)', 'mine.entry'],
    ['when voyager_id then json_build_object', 'when 0 then json_build_object'],
    ['order by reservations.id desc', 'order by reservations.id'],
    ['cardinality(listed) > page_limit', 'true'],
    ['[page_limit]', '[1]'],
  ],
}

const dropped: [string, string][] = [
  ...[
    'title is one line that shows something',
    'date and ends_at are in the years 1 to 9999',
    'ends_at must be after date, by 366 days at most',
    'accepted reservations of a host do not overlap',
  ].map((name): [string, string] => [name, `alter table public.reservations drop constraint "${name}"`]),
  [
    'half-open',
    `
    alter table public.reservations drop constraint "accepted reservations of a host do not overlap";
    alter table public.reservations add constraint "accepted reservations of a host do not overlap"
      exclude using gist (host_id with =, tstzrange(date, ends_at, '[]') with &&)
      where (status = 'accepted' and ends_at is not null)
  `,
  ],
  [
    'only accepted',
    `
    alter table public.reservations drop constraint "accepted reservations of a host do not overlap";
    alter table public.reservations add constraint "accepted reservations of a host do not overlap"
      exclude using gist (host_id with =, tstzrange(date, ends_at) with &&) where (ends_at is not null)
  `,
  ],
  [
    'only with an end',
    `
    alter table public.reservations drop constraint "accepted reservations of a host do not overlap";
    alter table public.reservations add constraint "accepted reservations of a host do not overlap"
      exclude using gist (host_id with =, tstzrange(date, ends_at) with &&) where (status = 'accepted')
  `,
  ],
  [
    'of one host',
    `
    alter table public.reservations drop constraint "accepted reservations of a host do not overlap";
    alter table public.reservations add constraint "accepted reservations of a host do not overlap"
      exclude using gist (tstzrange(date, ends_at) with &&) where (status = 'accepted' and ends_at is not null)
  `,
  ],
  ['note', 'alter table public.reservation_history drop constraint "note has at most 500 characters"'],
  ...['protect_history', 'protect_history_from_truncate'].map(
    (name): [string, string] => [name, `drop trigger ${name} on public.reservation_history`],
  ),
  ...['prepare_reservation', 'record_new_reservation', 'record_changed_reservation'].map(
    (name): [string, string] => [name, `drop trigger ${name} on public.reservations`],
  ),
  [
    'record only changes',
    `
    drop trigger record_changed_reservation on public.reservations;
    create trigger record_changed_reservation after update on public.reservations
      for each row execute function private.record_reservation()
  `,
  ],
  ...['title', 'price', 'date', 'ends_at', 'host_id'].map((
    column,
  ): [string, string] => [
    `record a change of ${column}`,
    `
    drop trigger record_changed_reservation on public.reservations;
    create trigger record_changed_reservation after update on public.reservations
      for each row
      when (
        (${
      ['conversation_id', 'title', 'price', 'date', 'ends_at', 'status', 'host_id']
        .filter((name) => name !== column).map((name) => `old.${name}`).join()
    })
          is distinct from
        (${
      ['conversation_id', 'title', 'price', 'date', 'ends_at', 'status', 'host_id']
        .filter((name) => name !== column).map((name) => `new.${name}`).join()
    })
      )
      execute function private.record_reservation()
  `,
  ]),
]

const database = await openTestDatabase()
const own = files.filter((file) => /^reservations\/|first_contact/.test(file))
// tests/db/schedules.test.ts explores without a mutant.
const finds = async () => (await explore(database, { isFirstEnough: true })).violations.length > 0
await tryMutants(database, { changes, statements: dropped }, own, Number(Deno.args[0] ?? 1), finds)
await database.close()
Deno.exit(0)
