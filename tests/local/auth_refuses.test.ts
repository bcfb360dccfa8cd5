import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const told = async (behaviour: string) => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', [
    'run',
    '-A',
    'tests/local/auth_refuses.ts',
    behaviour,
  ])
  return JSON.parse(stdout)
}

test.concurrent.each([
  ['pretends', 201],
  ['cannot mail', 201],
  ['email_address_not_authorized', 201],
  ['weak_password', 400],
  ['signup_disabled', 403],
  ['over_request_rate_limit', 429],
  ['unexpected_failure', 503],
  ['is away', 503],
  ['is silent', 503],
  ['stops in its answer', 503],
])('where Auth %s, a free address and a taken one are both answered with %s', async (behaviour, status) => {
  const { free, taken, mailed, unmailed } = await told(behaviour)
  expect({ free, taken }).toEqual({ free: status, taken: status })
  // As the first time: what Auth says of addresses that it mailed lately, or cannot mail, it says of no other.
  expect({ mailed, unmailed }).toEqual({ mailed: 201, unmailed: 201 })
})

test.concurrent('where signing up is switched off, nothing is removed to make room for it', async () => {
  expect(await told('is switched off')).toMatchObject({ free: 403, taken: 403, hasBegun: false })
  expect(await told('pretends')).toMatchObject({ hasBegun: true })
})

test.concurrent('where nothing must be confirmed, Auth says that an address is taken', async () => {
  expect(await told('user_already_exists')).toMatchObject({ free: 409, taken: 409 })
})

// Auth takes longer only where it mails somebody, so who waits for that in vain is told what everybody is told.
test.concurrent.each([['is away', 503], ['is silent', 202], ['stops in its answer', 202]])(
  'where Auth %s, whoever needs it is told to come back',
  async (behaviour, recover) => {
    expect(await told(behaviour)).toMatchObject({ login: 503, recover, refresh: 503, me: 503 })
  },
)

test.concurrent('where Auth fails after recovery was answered, the log says so', async () => {
  const { recover, warnings } = await told('is away, and takes a while to say so')
  expect({ recover, warnings }).toEqual({ recover: 202, warnings: expect.arrayContaining(['Recovery mail not sent']) })
})

test.concurrent.each(['over_request_rate_limit', 'email_address_not_authorized', 'unexpected_failure'])(
  'where Auth says %s of mailing an address, nobody learns that it knows it',
  async (behaviour) => {
    expect(await told(behaviour)).toMatchObject({ recover: 202 })
  },
)
