import { describe } from 'vitest'
import { accessible } from './accessible.ts'
import { addresses } from './addresses.ts'
import { hasBrowser, openDemo } from './browser.ts'
import { files } from './files.ts'
import { profiles } from './profiles.ts'
import { search } from './search.ts'

// They share a stack and a browser, which take longer to start than most of them. The times of a browser vary on a
// shared machine: vitest marks what passes at the second try.
describe.skipIf(!hasBrowser)('the demo page as one person uses it', { timeout: 120_000, retry: 1 }, () => {
  const demo = openDemo()
  accessible(demo)
  search(demo)
  addresses(demo)
  files(demo)
  profiles(demo)
})
