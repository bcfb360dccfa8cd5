// A migration is applied while people are at it, served by the release before it.
//
// Git's history knows that release. Where it does not reach so far (a shallow clone) or is not there at all (an archive), and always
// besides, the release before is taken to be these sources without the newest migration: that proves of the migration what the doors of
// today can ask of the schema of yesterday. What they cannot, because it came with the migration, is left out there; with history all counts.
import { execSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { call, converse, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const newest = readdirSync('supabase/migrations').sort().at(-1)!
const git = (command: string): string =>
  execSync(`git ${command}`, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The commit before the newest migration came, where history has it. */
const findPrevious = (): string | null => {
  try {
    const added = git(`log --diff-filter=A --format=%H -1 -- supabase/migrations/${newest}`)
    // Not committed yet: the release before is the last commit.
    const previous = added ? `${added}^` : 'HEAD'
    git(`cat-file -e ${previous}:./package.json`)
    return previous
  } catch {
    return null
  }
}
const previous = findPrevious()

const sources: [how: string, put: ((folder: string) => void) | null][] = [
  ['of its history', previous ? (folder) => void execSync(`git archive ${previous} | tar -x -C '${folder}'`) : null],
  ['of today without it', (folder) => {
    for (const name of readdirSync('.')) {
      if (!name.startsWith('.') && name !== 'node_modules') cpSync(name, join(folder, name), { recursive: true })
    }
    rmSync(join(folder, 'supabase/migrations', newest))
  }],
]

/** A folder with the release before, ready to be started. */
const layOut = (put: (folder: string) => void): string => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  put(folder)
  symlinkSync(`${process.cwd()}/node_modules`, join(folder, 'node_modules'))
  expect(readdirSync(join(folder, 'supabase/migrations'))).not.toContain(newest)
  return folder
}

type Request = [method: string, path: string, body?: () => unknown]

test.for(sources)(`no request fails while ${newest} is applied under the release before it: the doors %s`, async (
  [how, put],
  { skip },
) => {
  if (!put) return skip('no history that reaches to the release before')
  const address = await makeDatabase('release')
  const before = await startStack({ DATABASE_URL: address }, layOut(put))
  onTestFinished(() => stopStack(before.process))
  const searchable = { city: 'Porto', is_searchable: true }
  const [ana, ben] = [await signUp('Ana', searchable, before.base), await signUp('Ben', searchable, before.base)]
  const conversation = await converse(ana, ben)

  const failures: string[] = []
  const sent = new Set<number>()
  let [answered, isOver] = [0, false]
  const requests: Request[] = [
    ['POST', `/conversations/${conversation}/messages`, () => ({ content: 'Still there?', client_id: randomUUID() })],
    ['GET', `/conversations/${conversation}/messages?limit=20`],
    ['GET', '/conversations'],
    ['GET', '/conversations/unread'],
    ['GET', '/users/search?q=porto'],
    ['PATCH', '/users/profile', () => ({ biography: `I was here at ${Date.now()}` })],
    ['PATCH', '/users/searchable', () => ({ is_searchable: true })],
    ['GET', '/users/me'],
  ]
  const ask = (base: string, { token }: Person, [method, path, body]: Request) =>
    call(method, base + path, body?.(), { token })
  const tried = await Promise.all(requests.map((request) => ask(before.base, ana, request)))
  sent.add(tried[0]!.body.id)
  const usable = requests.filter((_, index) => tried[index]!.status < 300)
  if (how === 'of its history') expect(usable).toEqual(requests)
  // Whoever can neither write nor read would prove nothing.
  expect(usable).toEqual(expect.arrayContaining(requests.slice(0, 2)))

  const keepAsking = async (base: string, person: Person, start: number): Promise<void> => {
    for (let turn = start; !isOver; turn++) {
      const request = usable[turn % usable.length]!
      const { status, text, body } = await ask(base, person, request)
      answered++
      if (status >= 300) failures.push(`${request[0]} ${request[1]} answered ${status} ${text}`)
      else if (request[0] === 'POST') sent.add(body.id)
    }
  }
  // The two who take part in the conversation, at every request in turn, twice.
  const visitors = [0, 1, 2, 3].map((start) => keepAsking(before.base, [ana, ben][start % 2]!, start * 2))

  const earlier = answered
  // A new server applies what the database has not seen, as `supabase db push` does.
  const after = await startStack({ DATABASE_URL: address })
  onTestFinished(() => stopStack(after.process))
  const applied = answered
  visitors.push(...[0, 1].map((start) => keepAsking(after.base, [ana, ben][start]!, start)))
  await pause(2000)
  isOver = true
  await Promise.all(visitors)

  expect([...new Set(failures)]).toEqual([])
  expect(applied - earlier, 'requests while it was applied').toBeGreaterThan(20)
  expect(answered - applied, 'requests since').toBeGreaterThan(20)
  const { versions, kept } = await connected(address, async (sql) => ({
    versions: await sql`select version from supabase_migrations.schema_migrations`,
    kept: await sql`select id::int from public.messages`,
  }))
  expect(versions.map(({ version }) => version)).toContain(newest.split('_')[0])
  expect(new Set(kept.map(({ id }) => id))).toEqual(sent)
})
