// A folder with the repository, and the deployed project that command lines of docs/deploy.md, run in it, are about.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { projectRef } from '../tools/management_api.ts'
import { providePgNet } from '../tools/pg_net.ts'
import { testKeys } from '../tools/stack.ts'
import { type Outcome, quietly } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'
import { openDeployedProject } from './deployed_project.ts'

/** What somebody has who follows the page. */
export const copyRepository = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'walk-'))
  for (const name of readdirSync('.')) {
    if (name.startsWith('.') || ['node_modules', 'dist'].includes(name)) continue
    cpSync(name, join(folder, name), { recursive: true, preserveTimestamps: true })
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  return folder
}

export const openWalk = async () => {
  providePgNet()
  const project = await openDeployedProject()
  const folders: string[] = []
  let token = ''

  /** With the values of this project. A linked database has a name under supabase.co, so the CLI gets a URL. */
  const filledIn = (line: string): string => {
    const values = {
      'https://<ref>.supabase.co': project.origin,
      '<connection string, from the dashboard under Connect>': project.databaseUrl,
      '<pooler>:6543': project.pooler,
      '<ref>': projectRef,
      '<certificate.crt>': project.certificate,
      '<secret key, sb_secret_…>': testKeys.secretKey,
      'sb_publishable_…': testKeys.publishableKey,
      'sb_secret_…': testKeys.secretKey,
      '<password>': 'a-long-password',
      '<organisation>': 'organisation',
      '<region>': 'eu-west-1',
      '<version>': readdirSync('supabase/migrations').sort()[0]!.split('_')[0]!,
      '<access token>': token,
    }
    return Object.entries(values).reduce(
      (filled, [name, value]) => filled.replaceAll(name, value),
      line
        .replace(/^(npx supabase (?:db|migration) .*)--linked/, `$1--db-url ${project.databaseUrl}`)
        .replace(/^npx (supabase .*)/, 'node_modules/.bin/$1 --agent no'),
    )
  }

  /** How lines are run in this folder, as by a person who answers yes. It is removed at the end. */
  const openFolder = (folder: string) => {
    folders.push(folder)
    let exported = ''
    const run = (line: string): Promise<Outcome> => {
      const filled = filledIn(line)
      if (line.startsWith('export ')) exported = filled
      return new Promise((resolve) => {
        const child = spawn('bash', ['-c', `${exported}\n${filled}`], {
          cwd: folder,
          env: {
            ...process.env,
            // The CLI keeps its log-in there.
            HOME: join(folder, 'home'),
            DENO_DIR: process.env.DENO_DIR ?? join(homedir(), '.cache/deno'),
            ...quietly,
            NO_UPDATE_NOTIFIER: '1',
            SUPABASE_ACCESS_TOKEN: project.management.token,
            SUPABASE_PROFILE: project.management.profile,
          },
        })
        const outcome = { code: 0, stdout: '', stderr: '' }
        child.stdout.on('data', (text) => outcome.stdout += text)
        child.stderr.on('data', (text) => outcome.stderr += text)
        // A command that asks nothing may have ended.
        child.stdin.on('error', () => {})
        child.stdin.end('y\n')
        child.on('close', (code) => resolve({ ...outcome, code: code ?? 1 }))
      })
    }
    const succeed = async (line: string, tries = 10): Promise<Outcome> => {
      const outcome = await run(line)
      // Somebody was in the way, or autovacuum. The page says: push again.
      const isLate = tries > 1 && /due to lock timeout/.test(outcome.stdout + outcome.stderr)
      if (isLate) return pause(1000).then(() => succeed(line, tries - 1))
      expect(outcome.code, `${line}\n${outcome.stdout}${outcome.stderr}`).toBe(0)
      return outcome
    }
    const migrations = (): string[] => readdirSync(join(folder, 'supabase/migrations')).sort()
    return { folder, succeed, migrations }
  }

  return {
    project,
    filledIn,
    openFolder,
    useToken: (text: string) => void (token = text),
    close: async () => {
      await project.close()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const expectGreenDoctor = ({ stdout }: Outcome): void =>
  expect(stdout.match(/^(?:FAIL.*|\d+ ok, .*)$/gm)!.join('\n')).toMatch(/ 0 failed/)
