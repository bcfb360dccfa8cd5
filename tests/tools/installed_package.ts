import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/**
 * Packs the client of a clone as `npm pack` does, and installs the file, what it declares and `others` in a folder
 * outside of the repository, with the programs of tests/clients/package and without the network.
 */
export const installPackage = (others: string[], clone = '.') => {
  const folder = mkdtempSync(join(tmpdir(), 'package-'))
  const pack = ['pack', '--workspace=clients', '--json', `--pack-destination=${folder}`]
  const [{ filename, files }] = JSON.parse(execFileSync('npm', pack, { cwd: clone, encoding: 'utf8' }))
  const installed = join(folder, 'node_modules/voyagers-and-locals-client')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xf', join(folder, filename), '-C', installed, '--strip-components=1'])
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const name of Object.keys({ ...dependencies, ...peerDependencies }).concat(others)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(resolve('node_modules', name), link)
  }
  cpSync(join(clone, 'tests/clients/package'), folder, { recursive: true })
  const paths: string[] = files.map(({ path }: { path: string }) => path)
  return { folder, files: paths, size: statSync(join(folder, filename)).size }
}
