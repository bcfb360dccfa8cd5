// docs/migrate.md, from tables as the service with Express and Sequelize has them.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test, vi } from 'vitest'
import { connected, copyDatabase, makeDatabase } from '../tools/postgres.ts'
import { searchAudit } from '../tools/search_audit.ts'
import { platform } from '../tools/supabase.ts'

const hash = '$2b$10$1Oh/8CAvDsENkuRDLv03TuftclBs7gDNCOVPoWWKnf7WDIOHM6ldq'
const oldService = `
  create table users (
    id serial primary key, name text, email text, password text, bio text, location text, role text default 'user',
    is_active boolean default true, created_at timestamptz default '2024-01-01',
    updated_at timestamptz default '2024-01-01'
  );
  create table profiles (
    id serial primary key, user_id integer, first_name text, last_name text, age integer, biography text, country text,
    city text, image_url text, is_searchable boolean, updated_at timestamptz default '2024-01-01'
  );
  create table interests (id serial primary key, name text);
  create table profile_interests (profile_id integer, interest_id integer);
  create table conversations (
    id serial primary key, voyager_id integer, local_id integer, created_at timestamptz default '2024-01-01'
  );
  create table messages (
    id serial primary key, conversation_id integer, user_id integer, content text, attachment jsonb, read boolean,
    created_at timestamptz, updated_at timestamptz
  );
  create table reservations (
    id serial primary key, conversation_id integer, title text, price numeric(10, 2), date timestamptz, status text,
    created_at timestamptz default '2024-01-01', updated_at timestamptz default '2024-01-01'
  );
  insert into users (id, name, email, password, bio)
  select 500 + id, 'Person ' || id, 'Person' || id || '@Old.example', '${hash}', 'Bio'
  from generate_series(1, 40) as id;
  insert into profiles (id, user_id, biography, city, is_searchable)
  select 9000 + id, 500 + id, 'I build organs in town ' || id, 'Berlin', id > 1 from generate_series(1, 40) as id;
  insert into interests (name) values ('Hiking'), ('Organ building');
  insert into profile_interests select 9000 + id, 1 + id % 2 from generate_series(1, 40) as id;
  insert into conversations (id, voyager_id, local_id)
  select 700 + id, 500 + id, 501 + id from generate_series(1, 39) as id;
  insert into messages (id, conversation_id, user_id, content, read, created_at, updated_at)
  select 100000 + id, 701 + id % 39, 501 + id % 39 + id / 39 % 2,
    'Number ' || id || e' \\\\ "two"\\nlines', id < 11900, at, at
  from generate_series(1, 12000) as id
  cross join lateral (select timestamptz '2024-02-01' + id * interval '1 minute' as at) as moments;
  insert into reservations (conversation_id, title, price, date, status)
  values (701, 'Then', 12.5, '2024-06-01', 'accepted'), (701, 'Unanswered', 3, '2024-06-02', 'pending'),
    (702, 'Once', 40, '2036-06-02', 'pending');
`

const folder = mkdtempSync(join(tmpdir(), 'import-'))
afterAll(() => rmSync(folder, { recursive: true }))
const old = await makeDatabase('old_service')
await connected(old, (sql) => sql.unsafe(oldService))

const exportOld = (since?: string) =>
  promisify(execFile)(`${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`, [
    ...['-X', '-q', old, '-f', resolve('scripts/import/export_sequelize.sql')],
    ...since ? ['-v', `since=${since}`] : [],
  ], { cwd: folder })

/** Runs the import of a folder; `whileRunning` may end it. */
const runImport = (
  database: string,
  from: string,
  args: string[] = [],
  whileRunning: (process: ChildProcess) => Promise<void> = async () => {},
) =>
  new Promise<{ code: number | null; printed: string }>((ended, failed) => {
    const started = spawn('node_modules/.bin/deno', ['run', '-A', 'scripts/import/main.ts', from, ...args], {
      // On Supabase role postgres may set session_replication_role, which supautils lists; no grant of the stub's can.
      env: { ...process.env, DATABASE_URL: platform(database, 'supabase_admin') },
    })
    let printed = ''
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => printed += text)
    started.on('close', (code) => ended({ code, printed }))
    whileRunning(started).catch(failed)
  })

const ask = (database: string, statement: string): Promise<Record<string, unknown>[]> =>
  connected(platform(database, 'supabase_admin'), async (sql) => [...await sql.unsafe(statement)])

const told = `select (select count(*) from private.outbox) + (select count(*) from private.changes)
  + (select count(*) from realtime.messages) as told`

test('all of the old service comes in, killed and repeated, and what has changed since; nobody is told', async () => {
  await copyDatabase('imported')
  await exportOld()
  // Killed while it waits for a lock that another holds on the messages: everything before them is committed.
  await connected(platform('imported', 'supabase_admin'), async (sql) => {
    const killed = sql.begin(async (transaction) => {
      await transaction`lock table public.messages in share mode`
      return await runImport('imported', folder, [], async (started) => {
        const waits = `select from pg_locks where relation = 'public.messages'::regclass and not granted`
        await vi.waitUntil(async () => (await ask('imported', waits)).length > 0, { timeout: 60_000, interval: 50 })
        started.kill('SIGKILL')
      })
    })
    expect(await killed).toEqual({ code: null, printed: expect.any(String) })
  })
  const both = 'select (select count(*) from public.conversations), (select count(*) from public.messages) as none'
  expect(await ask('imported', both)).toEqual([{ count: '39', none: '0' }])
  const repeated = await runImport('imported', folder)
  expect(repeated).toEqual({
    code: 0,
    printed: expect.stringMatching(
      /^40 users, 2 interests, 40 profiles, 39 conversations, 12,000 messages, 3 reser[^]*\nAudit: \D+(0\D+){2}$/,
    ),
  })
  const counts =
    `select (select count(*) from public.messages) as messages, (select count(*) from auth.users) as accounts,
    (select encrypted_password from auth.users where email = 'person1@old.example') as password,
    (select string_agg(title || ' ' || status, ', ' order by id) from public.reservations) as reservations,
    (select count(*) from public.reservation_history) as steps, (select count(*) from private.inbox_entries) as entries,
    (select content from public.messages where id = 100001) as content,
    (select json_agg(name order by name) from public.interests where name ilike 'organ%') as interests`
  expect(await ask('imported', counts)).toEqual([{
    ...{ messages: '12000', accounts: '40', password: hash, interests: ['Organ building'], steps: '3', entries: '78' },
    reservations: 'Then completed, Unanswered cancelled, Once pending',
    content: 'Number 1 \\ "two"\nlines',
  }])
  expect(await ask('imported', told)).toEqual([{ told: '0' }])
  const [audited] = await ask('imported', searchAudit)
  expect(new Set(Object.values(audited!.findings as Record<string, number>))).toEqual(new Set([0]))

  // What is written from now on comes after all of it.
  const write = `insert into public.messages (conversation_id, user_id, content) values (701, 501, 'New') returning id`
  expect(await ask('imported', `${write}`)).toEqual([{ id: '112001' }])
  const forget = 'delete from private.outbox; delete from private.changes; delete from realtime.messages'
  await ask('imported', `delete from public.messages where id = 112001; ${forget}`)

  await connected(old, (sql) =>
    sql.unsafe(`
    insert into messages (conversation_id, user_id, content, read, created_at, updated_at)
    values (701, 502, 'Late', false, '2024-12-01', '2024-12-01');
    update messages set id = 112000 + id where content = 'Late';
    update messages set read = true, updated_at = '2024-12-01' where id = 111990;
    update users set name = 'Renamed', updated_at = '2024-12-01' where id = 502;
  `))
  await exportOld('2024-11-30')
  expect((await runImport('imported', folder)).printed)
    .toContain('1 users, 2 interests, 0 profiles, 0 conversations, 2 messages, 0 reservations')
  const late = `select name, (select count(*) from public.messages) as messages,
    (select read from public.messages where id = 111990) as read from public.users where id = 502`
  expect(await ask('imported', late)).toEqual([{ name: 'Renamed', messages: '12001', read: true }])
  expect(await ask('imported', told)).toEqual([{ told: '0' }])
  await exportOld()
  const own = { id: 9001, user_id: 501, languages: 'Dutch' }
  const lines = [own, { id: 9002, user_id: 502, is_searchable: true }].map((one) => JSON.stringify(one))
  writeFileSync(join(folder, 'profiles.jsonl'), lines.join('\n'))
  await ask('imported', `select public.restrict_person(502, 'hide', 'Spam')`)
  await runImport('imported', folder, ['--since=2024-12-02T00:00:00Z'])
  const hidden = `select is_hidden, is_searchable, (select count(*) from private.search_entries where user_id = 502)
    from public.profiles where user_id = 502`
  expect(await ask('imported', hidden)).toEqual([{ is_hidden: true, is_searchable: false, count: '0' }])
  const known = `select languages, show_answers, (select count(*) from public.messages)
    from public.profiles where id = 9001`
  expect(await ask('imported', known)).toEqual([{ languages: 'Dutch', show_answers: true, count: '12001' }])
})

test('what does not fit is listed by file, line and reason, and nothing is written', async () => {
  await copyDatabase(
    'refused',
    `insert into auth.users (id, email, email_confirmed_at)
    select gen_random_uuid(), name || '@x.example', now() from unnest(array['here', 'there']) as name;
    insert into public.interests (name) values ('Hiking');
    insert into public.conversations (id, voyager_id, local_id) overriding system value
    select 9, min(id), max(id) from public.users;
    insert into public.messages (id, conversation_id, user_id, content) overriding system value
    select 1, id, local_id, 'Between two others' from public.conversations`,
  )
  const bad = mkdtempSync(join(tmpdir(), 'import-bad-'))
  const write = (file: string, lines: unknown[]) =>
    writeFileSync(join(bad, file), lines.map((one) => typeof one === 'string' ? one : JSON.stringify(one)).join('\n'))
  const here = (await ask('refused', 'select min(id) as id from public.users'))[0]!.id as string
  const [own] = await ask('refused', `select id from public.profiles where user_id = ${here}`)
  const person = (id: number, fields: object = {}) => ({ id, name: 'A', email: `a${id}@x.example`, ...fields })
  const two = person(104, { name: 'Two\nlines' })
  const taken = [person(105, { email: 'A101@x.example' }), person(106, { password_hash: 'md5' })]
  const others = [person(107, { nickname: 'x' }), person(Number(here)), person(108, { email: 'HERE@x.example' })]
  write('users.jsonl', [person(101), person(102), person(103), person(101), '{', two, ...taken, ...others])
  const profile = (id: number, user_id: number, fields: object) => ({ id, user_id, is_searchable: true, ...fields })
  write('profiles.jsonl', [
    profile(11, 101, { age: 17 }),
    profile(2, 102, { age: 30, image_url: 'http://x.example/a.png' }),
    profile(3, 103, { interests: ['Gliding'] }),
    profile(4, 999, {}),
    profile(5, 103, { age: 40, interests: ['Hiking'] }),
    profile(6, +here, { age: 40 }),
    // What another line was refused is free.
    profile(Number(own!.id), 102, { age: 40 }),
    profile(7, 102, { age: 40 }),
  ])
  const talk = (id: number, voyager_id: number, local_id: number) => ({ id, voyager_id, local_id })
  write('conversations.jsonl', [
    talk(1, 101, 102),
    talk(2, 102, 101),
    talk(3, 101, 101),
    talk(4, 101, 999),
    talk(5, 101, +here),
    talk(9, 101, 103),
    talk(6, 103, 101),
  ])
  const message = (id: number, user_id: number, content: string) => ({ id, conversation_id: 1, user_id, content })
  const [long, elsewhere] = [message(4, 101, 'x'.repeat(5001)), { ...message(5, 101, 'x'), conversation_id: 77 }]
  write('messages.jsonl', [message(1, 101, 'ok'), message(2, 103, 'x'), message(3, 101, ' '), long, elsewhere])
  const times = { date: '2036-01-01T10:00:00Z', ends_at: '2036-01-02T10:00:00Z' }
  const stay = { conversation_id: 1, title: 'T', price: 1, ...times }
  write('reservations.jsonl', ['accepted', 'accepted', 'paid'].map((status, n) => ({ id: n + 1, status, ...stay })))
  const { code, printed } = await runImport('refused', bad)
  rmSync(bad, { recursive: true })
  expect(code).toBe(1)
  expect(await runImport('refused', bad)).toEqual({
    code: 1,
    printed: expect.stringContaining('has no file of an imp'),
  })
  expect(printed.replaceAll(`${bad}/`, '').split('\n')).toEqual([
    'users.jsonl:4: id: 101 is there twice',
    'users.jsonl:5: is no JSON object',
    'users.jsonl:6: name: must be one line without control or direction characters',
    'users.jsonl:8: password_hash: must be a bcrypt hash',
    'users.jsonl:9: nickname: is not known',
    'users.jsonl:7: Key (lower(email))=(a101@x.example) already exists.',
    `users.jsonl:10: Key (id)=(${here}) already exists.`,
    'users.jsonl:11: Key (lower(email))=(here@x.example) already exists.',
    'profiles.jsonl:1: age: must be 18 to 120',
    expect.stringMatching(/^profiles.jsonl:2: image_url: must be an https URL/),
    'profiles.jsonl:3: interests: Gliding is not in the list of interests',
    'profiles.jsonl:4: user_id: 999 is no user of an import',
    `profiles.jsonl:6: user_id: ${here} is no user of an import`,
    `profiles.jsonl:7: id: is the profile of user ${here}`,
    expect.stringMatching(/^conversations.jsonl:2: Key \(LEAST\(.*=\(101, 102\) already exists.$/),
    expect.stringMatching(/^conversations.jsonl:3: .* "nobody converses with themselves"$/),
    'conversations.jsonl:4: local_id: 999 is no user of an import',
    `conversations.jsonl:5: local_id: ${here} is no user of an import`,
    'conversations.jsonl:6: id: is that of other people',
    'messages.jsonl:4: content: must have at most 5000 characters',
    'messages.jsonl:1: id: is there already, and is not this one',
    'messages.jsonl:2: user_id: 103 takes no part in conversation 1',
    expect.stringMatching(/^messages.jsonl:3: .* "a message says something or carries an attachment"$/),
    'messages.jsonl:5: user_id: 101 takes no part in conversation 77',
    'reservations.jsonl:3: status: must be pending or accepted or declined or cancelled or completed',
    expect.stringMatching(/^reservations.jsonl:2: .* "accepted reservations of a host do not overlap"$/),
    '11 users, 0 interests, 8 profiles, 7 conversations, 5 messages, 3 reservations',
    '26 lines do not fit; nothing was written',
    '',
  ])
  expect(await ask('refused', 'select count(*) from public.users')).toEqual([{ count: '2' }])
})
