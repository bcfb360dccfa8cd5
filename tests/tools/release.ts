import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { lastRelease } from './changed.ts'

/**
 * A folder with the repository as it was at the last release, or is at this commit if the clone has none. Its packages
 * are those of today.
 */
export const checkOutRelease = (): string => {
  if (!lastRelease) console.warn('There is no release before this commit: the upgrade begins with it')
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  execFileSync('tar', ['-x', '-C', folder], {
    input: execFileSync('git', ['archive', lastRelease ?? 'HEAD'], { maxBuffer: 1e9 }),
  })
  // A lock file that is newer than the packages would install them anew, for this folder as well.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  utimesSync(join(folder, 'package-lock.json'), 0, 0)
  return folder
}
