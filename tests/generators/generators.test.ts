/**
 * Programs of others meet the service by its document: generated clients, and a fuzzer. With all tests they run if the
 * document differs from the base commit's, and the commit chooses the language; npm run test:generators tries all.
 */
import { cpSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { isDue, seed } from '../tools/changed.ts'
import { openConversation, type Person, signUp } from '../tools/people.ts'
import { cache, generate, missing, python, run } from './tools.ts'

// Each program logs in, lists, sends, searches and exports with a client generated from docs/openapi.json, and prints
// what it has read.
const { base } = inject('stack')
const large = 3_000_000_000

const whyNot = (programs: string[]): string | null =>
  isDue('docs/openapi.json', 'tests/generators') ? missing(programs) : 'the document is that of the base commit'

let ana: Person
let conversation: number
beforeEach(async () => {
  ana = await signUp('Ana', { is_searchable: true, age: 30 })
  const ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
  // More than an int32 holds, and a price that is no multiple of 0.01 in binary.
  const attachment = { url: 'https://example.com/a.zip', name: 'a.zip', mime_type: 'application/zip', size: large }
  await ben.call('POST', `/conversations/${conversation}/messages`, { content: 'Large', attachment })
  const date = new Date(Date.now() + 864e5).toISOString()
  await ben.call('POST', `/conversations/${conversation}/reservations`, { title: 'Coffee', price: 0.07, date })
})

const expectRound = (output: string) =>
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({
    ...{ conversations: [conversation], size: large, sent: 'Hello', price: 0.07 },
    ...{ found: true, exported: 2, refusal: '404 not_found' },
  })
const given = () => [base, ana.email, ana.password, String(conversation)]

const languages: [name: string, programs: string[], round: () => Promise<string>][] = [
  ['Go', ['java', 'mvn', 'go'], async () => {
    const folder = await generate('go', '--git-host=example.com', '--git-user-id=us', '--git-repo-id=client')
    mkdirSync(`${folder}/round`)
    cpSync('tests/generators/round.go', `${folder}/round/main.go`)
    await run('go', ['build', '-o', `${folder}/round/round`, './round'], folder)
    return await run(`${folder}/round/round`, given())
  }],
  ['Python', ['java', 'mvn', 'python3'], async () => {
    const folder = await generate('python')
    cpSync('tests/generators/round.py', `${folder}/round.py`)
    return await run(python, [`${folder}/round.py`, ...given()])
  }],
]

const chosen = process.env.GENERATORS ? languages : [languages[seed % languages.length]!]
describe.each(chosen)('a generated client in %s', (name, programs, round) => {
  const reason = whyNot(programs)
  if (reason) console.log(`Skipped: a generated client in ${name}: ${reason}`)

  test.skipIf(reason)('compiles, logs in, lists, sends, searches and exports', async () => {
    expectRound(await round())
  })
})

const noPython = whyNot(['python3'])
if (noPython) console.log(`Skipped: Schemathesis: ${noPython}`)

// Opinions that the service does not share: that whatever the schema allows succeeds (it cannot say that nobody blocks
// themselves, or that two fields exclude each other), and that whatever it does not mention is refused (a limit above
// its maximum is reduced, and unknown keys and headers are ignored).
const opinions = ['positive_data_acceptance', 'negative_data_rejection']

// Administration needs the secret key; erasing and logging out would end the session of the run.
const excluded = 'eraseMe|logOut|embedQueue|sendNotifications|getMetrics'

test.skipIf(noPython)('Schemathesis finds nothing that the document does not say', async () => {
  const { token } = await signUp('Cat')
  const given = [
    ...['run', resolve('docs/openapi.json'), '--url', base, '--header', `Authorization: Bearer ${token}`],
    ...['--exclude-checks', opinions.join(), '--exclude-operation-id-regex', `^(${excluded})$`],
    ...['--max-examples', '5', '--seed', '42', '--phases', 'examples,coverage,fuzzing'],
    ...['--generation-database', 'none'],
    ...['--no-color', '--warnings', 'off', '--suppress-health-check', 'all'],
  ]
  expect(await run(python, ['-m', 'schemathesis.cli', ...given], cache)).toMatch(
    /^ +[1-9]\d{2,} generated, [1-9]\d{2,} passed(, \d+ skipped)?$/m,
  )
})
