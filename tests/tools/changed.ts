import { execFileSync } from 'node:child_process'

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

const head = git('rev-parse', 'HEAD')
/** A number of the commit's. It chooses samples, so that each run tries others and the same commit the same ones. */
export const seed = parseInt(head.slice(0, 8), 16)

const ask = (...args: string[]): string | null => {
  try {
    return git(...args) || null
  } catch {
    return null
  }
}
const isShallow = ask('rev-parse', '--is-shallow-repository') === 'true'
/** The commit of the last release before this one: who writes this file. Null if this clone has none. */
export const lastRelease: string | null = isShallow
  ? null
  : ask('log', '-1', '--format=%H', `${head}~1`, '--', 'supabase/released.sha256')
/** What the commit is compared with: BASE_COMMIT, else the last release before it. Null if the clone has none. */
export const base = process.env.BASE_COMMIT
  ? ask('rev-parse', '--verify', `${process.env.BASE_COMMIT}^{commit}`)
  : lastRelease

/**
 * Whether what is long, and guards just these files and folders, has to run: one of them differs from the base, in a
 * commit or not yet in one, or there is no base. Only with all tests (npm run test:all) may it not have to.
 */
export const isDue = (...paths: string[]): boolean =>
  !process.env.ALL_TESTS || !base || git('diff', '--name-only', base, '--', ...paths) !== '' ||
  git('ls-files', '--others', '--exclude-standard', '--', ...paths) !== ''
