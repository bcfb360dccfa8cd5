import { constants } from 'node:fs'
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openFiles } from '../../supabase/local/storage/files.ts'
import { copyPreparedData, startStack, stopStack, testKeys } from '../tools/stack.ts'
import { until } from '../tools/wait.ts'

const filesIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).map(({ name }) => name)

test('a kill during uploads leaves whole files with a row and nothing else', async () => {
  const DATA_DIR = await copyPreparedData()
  onTestFinished(() => rm(DATA_DIR, { recursive: true, force: true }))
  const headers = { Authorization: `Bearer ${testKeys.secretKey}`, 'Content-Type': 'image/png', 'x-upsert': 'true' }
  const first = await startStack({ DATA_DIR })
  const address = (base: string, name: string) => `${new URL(base).origin}/storage/v1/object/avatars/${name}`
  const content = (round: number) => new Uint8Array(500_000 + round).fill(round)
  // Replaces five files over and over, while one upload has only begun.
  const begun = request(address(first.base, 'begun.png'), { method: 'POST', headers })
  begun.on('error', () => {}).write(new Uint8Array(100_000))
  const acknowledged = new Map(['a', 'b', 'c', 'd', 'e'].map((name) => [name, 0]))
  const write = async (name: string) => {
    for (let round = 1;; round++) {
      const response = await fetch(address(first.base, name), { method: 'POST', headers, body: content(round) })
      if (!response.ok) throw new Error(await response.text())
      acknowledged.set(name, round)
    }
  }
  const writers = [...acknowledged.keys()].map((name) => write(name).catch(() => {}))
  await until(() => [...acknowledged.values()].every((round) => round > 2))
  expect((await filesIn(join(DATA_DIR, 'storage', 'incoming'))).length).toBeGreaterThan(0)
  first.process.kill('SIGKILL')
  await once(first.process, 'exit')
  await Promise.all(writers)
  // What a kill between the file and its row, or between the row and its old file, leaves.
  const orphan = crypto.randomUUID()
  await writeFile(join(DATA_DIR, 'storage', orphan), 'no row')

  const second = await startStack({ DATA_DIR })
  onTestFinished(() => stopStack(second.process))
  for (const [name, round] of acknowledged) {
    const bytes = new Uint8Array(await (await fetch(address(second.base, name))).arrayBuffer())
    // The next one may have been written without its answer.
    expect([round, round + 1]).toContain(bytes.length - 500_000)
    expect(bytes.every((byte) => byte === (bytes.length - 500_000) % 256)).toBe(true)
  }
  expect((await fetch(address(second.base, 'begun.png'))).status).toBe(400)
  const left = await filesIn(join(DATA_DIR, 'storage'))
  expect([left.includes(orphan), left.length]).toEqual([false, acknowledged.size])
})

test('nothing is left of a file that a full disk refused, that was cut off, or is too large', async () => {
  const path = await mkdtemp(join(tmpdir(), 'files-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  let isFull = true
  // /dev/full answers each write as a full disk does.
  const openFile = (name: string, flags: string, mode?: number) =>
    isFull ? open('/dev/full', constants.O_WRONLY) : open(name, flags, mode)
  const files = await openFiles(path, openFile as typeof open)
  const upload = (chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) =>
    files.write(ReadableStream.from(chunks), 100, () => new Error('too large'))
  await expect(upload([new Uint8Array(10)])).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(await filesIn(path)).toEqual([])
  isFull = false
  const { version } = await upload([new Uint8Array(10)])
  expect(await readFile(join(path, version))).toHaveLength(10)
  const cut = async function* () {
    yield new Uint8Array(10)
    throw await Promise.resolve(new Error('cut'))
  }
  await expect(upload(cut())).rejects.toThrow('cut')
  await expect(upload([new Uint8Array(101)])).rejects.toThrow('too large')
  expect(await filesIn(path)).toEqual([version])
})
