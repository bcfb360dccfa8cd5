import { describe } from 'vitest'
import { hasBrowser, openDemo } from './browser.ts'
import { chat } from './chat.ts'
import { page } from './page.ts'
import { together } from './together.ts'

// They share a stack and a browser, which take longer to start than most of them. The times of a browser vary on a
// shared machine: vitest marks what passes at the second try.
describe.skipIf(!hasBrowser)('the demo page as two people use it', { timeout: 120_000, retry: 1 }, () => {
  const demo = openDemo()
  page(demo)
  chat(demo)
  together(demo)
})
