import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dimensions, loadEmbedder, model } from '../../functions/_shared/embeddings/wordnet/embedder.ts'

const folder = new URL('../../functions/_shared/embeddings/wordnet/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, folder))
const file = new Uint8Array(read('./wordnet.bin'))
const embed = loadEmbedder(file)

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * b[i]!, 0)
const similarity = (a: string, b: string) => dot(embed(a), embed(b))
const norm = (text: string) => Math.sqrt(dot(embed(text), embed(text)))

/** A smaller difference could be an accident of the factorisation. */
const margin = 0.1

/** The first two belong together, the third does not. None of these words is in glosses.txt, as a test checks. */
const knownToWordNet: [string, string, string][] = [
  ['guitar', 'violin', 'carpenter'],
  ['car', 'automobile', 'banana'],
  ['doctor', 'hospital', 'piano'],
  ['beach', 'shore', 'office'],
  ['mountain', 'hill', 'spoon'],
  ['church', 'cathedral', 'football'],
  ['soccer', 'football', 'poetry'],
  ['travel', 'journey', 'sugar'],
  ['bread', 'bakery', 'lawyer'],
  ['kayak', 'canoe', 'novel'],
  ['Lisbon', 'Portugal', 'butter'],
  ['dogs', 'a puppy', 'algebra'],
  ['sailing', 'a boat', 'gardener'],
  ['I play the cello', 'orchestra of violinists', 'repairing engines'],
  ['painter of portraits', 'art and sculpture', 'economics'],
  ['We swim in the ocean', 'seaside and waves', 'lectures about grammar'],
]

/**
 * Likewise. WordNet lacks the first of these, or has them in another sense: party as politics, cycling as periodicity.
 */
const knownToGlosses: [string, string, string][] = [
  ['hiking', 'trekking', 'cooking'],
  ['wifi', 'computer network', 'vineyard'],
  ['party', 'dancing', 'politician'],
  ['party', 'nightlife', 'accountant'],
  ['host', 'guest', 'parasite'],
  ['cycling', 'bicycle', 'periodic'],
  ['kitesurfing', 'surfing', 'library'],
  ['foodie', 'restaurant', 'mathematics'],
  ['yoga', 'meditation', 'carburetor'],
  ['photography', 'camera', 'soup'],
  ['accommodation', 'hostel', 'adjustment'],
  ['programming', 'software', 'schedule'],
  ['trail', 'hike', 'pursuit'],
  ['couch surfing', 'staying with a host', 'surgery'],
  ['digital nomad with a laptop', 'remote work on the internet', 'shepherd with a flock'],
]

describe('a vector', () => {
  test('has 384 numbers and length 1 for any text', () => {
    for (const text of ['hiking', 'I love the mountains.', 'Zsófia Żółć', '東京に行きたい', 'Люблю горы', '🏔️ 42']) {
      expect(embed(text)).toHaveLength(dimensions)
      expect(norm(text), text).toBeCloseTo(1, 5)
    }
    expect(dimensions).toBe(384)
  })

  test('is zero if the text has no usable word', () => {
    for (const text of ['', '???', ' \n\t', '🙂', 'and so it was']) {
      expect(embed(text).every((x) => x === 0), text).toBe(true)
    }
  })

  test('is the same each time and from each embedder', () => {
    const text = 'Slow travel, street food and long evenings with zlorbik players.'
    expect(embed(text)).toEqual(embed(text))
    expect(loadEmbedder(file)(text)).toEqual(embed(text))
  })

  test('can be changed by the caller', () => {
    embed('harbour').fill(7)
    expect(norm('harbour')).toBeCloseTo(1, 5)
  })

  test('ignores case, accents, widths and punctuation', () => {
    for (const text of ['CAFÉ', 'cafe\u0301', 'ｃａｆｅ', '«café»!']) {
      expect(similarity(text, 'cafe'), text).toBeCloseTo(1, 5)
    }
    expect(similarity('guest house', 'guest-house')).toBeCloseTo(1, 5)
  })

  test('exists for a text of 5,000 characters, and for one long word', () => {
    expect(norm('Hiking über Berge, 山歩き! '.repeat(250).slice(0, 5000))).toBeCloseTo(1, 5)
    expect(norm('x'.repeat(5000))).toBeCloseTo(1, 5)
  })
})

describe('meaning', () => {
  test.each(knownToWordNet)('with WordNet, "%s" is nearer to "%s" than to "%s"', (text, near, far) => {
    expect(similarity(text, near)).toBeGreaterThan(similarity(text, far) + margin)
  })

  test('the examples above are not in our glosses', () => {
    const lines = readFileSync('scripts/embedder/glosses.txt', 'utf8').split('\n')
    const glosses = lines.filter((line) => !line.startsWith('#'))
    const ours = new Set(glosses.flatMap((line) => line.split('|')[0]!.split(',').map((word) => word.trim())))
    const examples = knownToWordNet.flat().flatMap((text) => text.toLowerCase().split(' '))
    expect(examples.filter((word) => ours.has(word))).toEqual([])
  })

  test.each(knownToGlosses)('with our glosses, "%s" is nearer to "%s" than to "%s"', (text, near, far) => {
    expect(similarity(text, near)).toBeGreaterThan(similarity(text, far) + margin)
  })

  test('survives inflection', () => {
    expect(similarity('mountains', 'mountain')).toBeGreaterThan(0.9)
    expect(similarity('she swam', 'he swims')).toBeGreaterThan(0.9)
  })

  test('ignores stop words', () => {
    expect(similarity('I would like to have a violin', 'I would like to have a hammer')).toBeLessThan(0.4)
    expect(similarity('the violin', 'violin')).toBeCloseTo(1, 5)
  })
})

describe('an unknown word', () => {
  test('is near to words of similar spelling', () => {
    expect(similarity('Zwiebelkuchenfest', 'Zwiebelkuchenfeste')).toBeGreaterThan(0.3)
    expect(similarity('Zwiebelkuchenfest', 'Zwiebelkuchenfeste')).toBeGreaterThan(
      similarity('Zwiebelkuchenfest', 'Brombeermarmelade') + margin,
    )
  })

  test('hardly changes the meaning of the known words around it', () => {
    expect(similarity('playing guitar with Xanthorik', 'guitar player')).toBeGreaterThan(0.5)
  })
})

describe('the data file', () => {
  test('has the recorded checksum', () => {
    const recorded = read('./wordnet.bin.sha256').toString()
    expect(recorded).toBe(`${createHash('sha256').update(file).digest('hex')}  wordnet.bin\n`)
  })

  test('is below 4 MB and contains its licence', () => {
    expect(file.length).toBeLessThan(4_000_000)
    expect(new TextDecoder().decode(file.subarray(0, 2000))).toContain(read('./LICENSE-WORDNET.txt').toString())
  })

  test('contains the name of its model', () => {
    expect(model).toBe('offline-wordnet-v1')
    expect(new TextDecoder().decode(file.subarray(0, model.length))).toBe(model)
  })

  test('may lie anywhere in a larger buffer', () => {
    const larger = new Uint8Array(file.length + 8)
    larger.set(file, 3)
    expect(loadEmbedder(larger.subarray(3, 3 + file.length))('harbour')).toEqual(embed('harbour'))
  })

  const changed = (at: number) => {
    const copy = file.slice()
    copy[at]! ^= 1
    return copy
  }

  test.each<[string, Uint8Array, RegExp]>([
    ['nothing', new Uint8Array(), /0 bytes are too few/],
    ['half a header', file.slice(0, 20), /20 bytes are too few/],
    ['some other file', new TextEncoder().encode('<!doctype html>'.repeat(99)), /does not begin with that name/],
    ['another model', changed(model.length - 1), /does not begin with that name/],
    ['its first half', file.slice(0, file.length / 2), /has \d+ bytes where its header promises \d+/],
    ['all but a byte', file.slice(0, -1), /has \d+ bytes where its header promises \d+/],
    ['a byte too many', new Uint8Array([...file, 0]), /has \d+ bytes where its header promises \d+/],
    ['a wrong count', changed(32), /has \d+ bytes where its header promises \d+/],
    ['a wrong checksum', changed(24), /checksum does not match/],
    ['a changed licence', changed(100), /checksum does not match/],
    ['a changed word', changed(5000), /checksum does not match/],
    ['a changed last byte', changed(file.length - 1), /checksum does not match/],
  ])('is rejected if it is %s', (_, bytes, reason) => {
    expect(() => loadEmbedder(bytes)).toThrow(reason)
    expect(() => loadEmbedder(bytes)).toThrow(/^Not a data file of offline-wordnet-v1: /)
  })
})
