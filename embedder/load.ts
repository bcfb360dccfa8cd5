// deno run -A embedder/load.ts: prints how many milliseconds of processor time it takes a fresh process to read
// wordnet.bin, make an embedder of it and embed a first text. All threads count, those of the compiler included.
import process from 'node:process'
import { loadEmbedder } from '../functions/_shared/embeddings/wordnet/embedder.ts'

/** In milliseconds. Deno 2.1.4 has no cpuUsage; other systems have no /proc. */
const processorTime = (): number => {
  if (Deno.build.os !== 'linux') {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  return [...Deno.readDirSync('/proc/self/task')]
    .reduce(
      (sum, { name }) => sum + Number(Deno.readTextFileSync(`/proc/self/task/${name}/schedstat`).split(' ')[0]),
      0,
    ) /
    1e6
}

const before = processorTime()
const bytes = Deno.readFileSync(new URL('../functions/_shared/embeddings/wordnet/wordnet.bin', import.meta.url))
loadEmbedder(bytes).embed('hiking')
console.log((processorTime() - before).toFixed(1))
