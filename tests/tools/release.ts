import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

/** A folder with the repository as it was at the last release, which is what writes supabase/released.sha256. */
export const checkOutRelease = (): string => {
  if (git('rev-parse', '--is-shallow-repository') === 'true') {
    throw new Error('The last release is not in this clone: git fetch --unshallow')
  }
  const commit = git('log', '-1', '--format=%H', '--', 'supabase/released.sha256')
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  execFileSync('tar', ['-x', '-C', folder], { input: execFileSync('git', ['archive', commit], { maxBuffer: 1e9 }) })
  // With the packages that are there: a lock file that is newer would install them anew.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  utimesSync(join(folder, 'package-lock.json'), 0, 0)
  return folder
}
