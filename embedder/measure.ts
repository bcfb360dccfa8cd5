// deno run -A embedder/measure.ts: the figures of functions/_shared/embeddings/wordnet/README.md. Run it on an idle
// machine; the first load and texts include compiling, and processor time that of all threads.
import process from 'node:process'
import { readDataFile } from '../functions/_shared/embeddings/wordnet/data_file.ts'
import { dimensions } from '../functions/_shared/embeddings/provider.ts'
import { loadEmbedder, model } from '../functions/_shared/embeddings/wordnet/embedder.ts'

const bytes = Deno.readFileSync(new URL('../functions/_shared/embeddings/wordnet/wordnet.bin', import.meta.url))
const milliseconds = (work: () => unknown) => {
  const begin = performance.now()
  work()
  return performance.now() - begin
}
const median = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
const profile =
  `Hiker and amateur photographer from Lisbon. I bake sourdough, play the accordion badly and love long train rides.
  My spare room is for travellers who like board games, quiet mornings and a walk along the river with my two dogs.`

const before = process.cpuUsage()
const firstLoad = milliseconds(() => loadEmbedder(bytes))
const { user, system } = process.cpuUsage(before)
const laterLoad = median(Array.from({ length: 9 }, () => milliseconds(() => loadEmbedder(bytes))))
const { embed } = loadEmbedder(bytes)
const firstEmbed = milliseconds(() => embed(profile))
const laterEmbed = median(Array.from({ length: 2000 }, () => milliseconds(() => embed(profile))))
const longest = median(Array.from({ length: 50 }, () => milliseconds(() => embed(profile.repeat(30).slice(0, 5000)))))

console.log(`${model}: ${dimensions} dimensions, ${bytes.length} bytes, ${readDataFile(bytes).words.count} words`)
console.log(`load  ${firstLoad.toFixed(0)} ms at first, ${laterLoad.toFixed(0)} ms later`)
console.log(`      ${(user + system) / 1000} ms of processor time at first`)
console.log(
  `embed ${profile.length} characters  ${firstEmbed.toFixed(2)} ms at first, ${laterEmbed.toFixed(3)} ms later`,
)
console.log(`embed 5000 characters ${longest.toFixed(2)} ms`)

const pairs =
  `hiking trekking, hiking cooking, food cuisine, food cooking, surf beach, photography camera, party nightlife,
  bike cycling, host guest, wifi internet, yoga meditation, guitar violin, guitar music, Lisbon Portugal, kayak boat,
  sailing carpenter, dog algebra, senderismo hiking, Wandern hiking, randonnée hiking, 徒步 hiking, cuisiner cooking`
for (const pair of pairs.split(',')) {
  const [one, other] = pair.trim().split(' ').map(embed) as [Float32Array, Float32Array]
  const cosine = one.reduce((sum, x, i) => sum + x * other[i]!, 0)
  console.log(`${cosine.toFixed(2).padStart(5)}  ${pair.trim().replace(' ', ' ~ ')}`)
}
