import { fileURLToPath } from 'node:url'

/** Everything that the bundles are made of. */
const sources = ['functions', 'scripts/build_functions.ts', 'package-lock.json']

const git = async (root: URL, ...args: string[]): Promise<string | null> => {
  try {
    const command = new Deno.Command('git', { args, cwd: fileURLToPath(root), stdout: 'piped', stderr: 'null' })
    const { success, stdout } = await command.output()
    return success ? new TextDecoder().decode(stdout).trim() : null
  } catch {
    return null
  }
}

/**
 * What all functions of a build report as their release: the version and the commit, or the time of the build where the
 * sources are in no commit.
 */
export const describeRelease = async (root: URL): Promise<string> => {
  const { version } = JSON.parse(Deno.readTextFileSync(new URL('package.json', root)))
  const commit = await git(root, 'rev-parse', '--short=12', 'HEAD')
  const changes = await git(root, 'status', '--porcelain', '--', ...sources)
  const isCommitted = commit !== null && changes === ''
  return `${version}+${isCommitted ? commit : `uncommitted.${new Date().toISOString()}`}`
}
