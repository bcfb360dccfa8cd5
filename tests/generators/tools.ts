import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

export const cache = resolve('.cache/generators')

/** What a program prints; fails with all of that. */
export const run = async (program: string, given: string[], cwd = process.cwd()): Promise<string> => {
  try {
    return (await promisify(execFile)(program, given, { cwd, maxBuffer: 2 ** 26 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} failed\n${stdout}\n${stderr}`.slice(-5000))
  }
}

const isThere = (program: string): boolean => {
  try {
    execFileSync(program, [program === 'go' ? 'version' : '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Prepares something and returns why that is not possible, or null. */
const attempt = (prepare: () => void): string | null => {
  try {
    prepare()
    return null
  } catch (error) {
    return (error as Error).message.split('\n')[0]!
  }
}

const version = '7.17.0'
const checksum = '25d6bd8273dd2be99979d544b62ea43f0ce1975f1aa582678b5093d1e7fcfce8'
const jar = `${cache}/openapi-generator-cli-${version}.jar`

const fetchGenerator = () => {
  if (existsSync(jar)) return
  const artifact = `org.openapitools:openapi-generator-cli:${version}`
  execFileSync('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${cache}`])
}

/** A virtual environment with requirements.txt; its Python. */
export const python = `${cache}/venv/bin/python`

const requirements = resolve('tests/generators/requirements.txt')
const installPython = () => {
  if (existsSync(`${cache}/venv/${digest(requirements)}`)) return
  execFileSync('python3', ['-m', 'venv', '--clear', `${cache}/venv`])
  execFileSync(python, ['-m', 'pip', 'install', '-q', '-r', requirements])
  mkdirSync(`${cache}/venv/${digest(requirements)}`)
}

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Why these programs cannot be used here, for a line in the log; null if they can. */
export const missing = (programs: string[]): string | null => {
  mkdirSync(cache, { recursive: true })
  const absent = programs.filter((program) => !isThere(program))
  if (absent.length > 0) return `${absent.join(' and ')} not installed`
  const reason = (programs.includes('mvn') ? attempt(fetchGenerator) : null) ??
    (programs.includes('python3') ? attempt(installPython) : null)
  if (reason) return `the registry does not answer: ${reason}`
  if (programs.includes('mvn') && digest(jar) !== checksum) {
    rmSync(jar)
    throw new Error('OpenAPI Generator is another one than expected')
  }
  return null
}

/** The folder of a client that was generated from docs/openapi.json. */
export const generate = async (language: string, ...options: string[]): Promise<string> => {
  const folder = `${cache}/${language}`
  rmSync(folder, { recursive: true, force: true })
  const parts = 'models,apis,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'
  const given = ['-i', 'docs/openapi.json', '-g', language, '-o', folder, `--global-property=${parts}`, ...options]
  await run('java', ['-jar', jar, 'generate', ...given])
  return folder
}
