import { resolve } from 'node:path'
import { expect, inject, test } from 'vitest'
import { signUp } from '../tools/people.ts'
import { cache, missing, python, run } from './tools.ts'

const reason = missing(['python3'])
if (reason) console.log(`Skipped: Schemathesis: ${reason}`)

// Opinions that the service does not share: that whatever the schema allows succeeds (it cannot say that nobody blocks
// themselves, or that two fields exclude each other), and that whatever it does not mention is refused (a limit above
// its maximum is reduced, and unknown keys and headers are ignored).
const opinions = ['positive_data_acceptance', 'negative_data_rejection']

// Administration needs the secret key; erasing and logging out would end the session of the run.
const excluded = 'eraseMe|logOut|embedQueue|sendNotifications|getMetrics'

test.skipIf(reason)('Schemathesis finds nothing that the document does not say', async () => {
  const { base } = inject('stack')
  const { token } = await signUp('Ana')
  const given = [
    ...['run', resolve('docs/openapi.json'), '--url', base, '--header', `Authorization: Bearer ${token}`],
    ...['--exclude-checks', opinions.join(), '--exclude-operation-id-regex', `^(${excluded})$`],
    ...[
      '--max-examples',
      '5',
      '--seed',
      '42',
      '--phases',
      'examples,coverage,fuzzing',
      '--generation-database',
      'none',
    ],
    ...['--no-color', '--warnings', 'off', '--suppress-health-check', 'all'],
  ]
  expect(await run(python, ['-m', 'schemathesis.cli', ...given], cache)).toMatch(
    /^ +[1-9]\d{2,} generated, [1-9]\d{2,} passed(, \d+ skipped)?$/m,
  )
})
