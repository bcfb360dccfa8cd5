import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()
const lastReleaseOf = (commit: string): string =>
  git('log', '-1', '--format=%H', commit, '--', 'supabase/released.sha256')

/** The last release before this commit; if that is the first release, itself. */
const lastRelease = (): string => {
  if (git('rev-parse', '--is-shallow-repository') === 'true') {
    throw new Error('The last release is not in this clone: git fetch --unshallow')
  }
  return lastReleaseOf('HEAD~1') || lastReleaseOf('HEAD')
}

/**
 * A folder with the repository as it was at the last release, which is what writes supabase/released.sha256. Its
 * packages are those of today.
 */
export const checkOutRelease = (): string => {
  const commit = lastRelease()
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  execFileSync('tar', ['-x', '-C', folder], { input: execFileSync('git', ['archive', commit], { maxBuffer: 1e9 }) })
  // A lock file that is newer than the packages would install them anew, for this folder as well.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  utimesSync(join(folder, 'package-lock.json'), 0, 0)
  return folder
}
