import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dimensions } from '../../functions/_shared/embeddings/provider.ts'
import { loadEmbedder, model } from '../../functions/_shared/embeddings/wordnet/embedder.ts'

const read = (path: string) => readFileSync(`functions/_shared/embeddings/wordnet/${path}`)
const file = new Uint8Array(read('./wordnet.bin'))
const { embed, knows } = loadEmbedder(file)

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * b[i]!, 0)
const similarity = (a: string, b: string) => dot(embed(a), embed(b))
const norm = (text: string) => Math.sqrt(dot(embed(text), embed(text)))

/** A smaller difference could be an accident of the factorisation. */
const margin = 0.1

describe('a vector', () => {
  test('has 384 numbers and length 1 for any text with a known word', () => {
    const texts = ['hiking', 'I love the mountains.', 'Żółć hikes', 'Ich koche gern', '料理が好きです', '🏔️ piano']
    for (const text of texts) {
      expect(embed(text)).toHaveLength(dimensions)
      expect(norm(text), text).toBeCloseTo(1, 5)
    }
    expect(dimensions).toBe(384)
  })

  test('is zero if the text has no word with a known meaning', () => {
    for (
      const text of ['', '???', ' \n\t', '🙂', '42', 'and so it was', 'zlorbik', 'Zsófia Żółć', 'qwrt asdfg', 'Люблю']
    ) {
      expect(embed(text).every((x) => x === 0), text).toBe(true)
    }
    expect(embed('x'.repeat(5000)).every((x) => x === 0)).toBe(true)
  })

  test('ignores case, accents, widths and punctuation', () => {
    for (const text of ['CAFÉ', 'cafe\u0301', 'ｃａｆｅ', '«café»!']) {
      expect(similarity(text, 'cafe'), text).toBeCloseTo(1, 5)
    }
    expect(similarity('guest house', 'guest-house')).toBeCloseTo(1, 5)
  })
})

test('stop words have no meaning', () => {
  expect(similarity('I would like to have a violin', 'I would like to have a hammer')).toBeLessThan(0.4)
  expect(similarity('the violin', 'violin')).toBeCloseTo(1, 5)
})

describe('a clause', () => {
  const hobby = 'We walk ridges valleys summits glaciers and forest trails with boots and a rucksack'

  test('is heard beside a longer one', () => {
    expect(similarity(`${hobby}. I play the violin`, 'violin'))
      .toBeGreaterThan(similarity(`${hobby} I play the violin`, 'violin') + margin)
    expect(similarity(`${hobby}. I play the violin`, 'hiking')).toBeGreaterThan(0.5)
  })

  test('makes no collocation with the next', () => {
    expect(similarity('guest house', 'guesthouse')).toBeGreaterThan(similarity('guest. House', 'guesthouse') + margin)
  })

  test('has a language of its own', () => {
    expect(similarity('I sing in a choir. Du pain et du fromage', 'bread')).toBeGreaterThan(0.3)
  })
})

test('an unknown word adds nothing to the known words around it', () => {
  expect(embed('playing guitar with Xanthorik')).toEqual(embed('playing guitar with'))
})

describe('the vocabulary', () => {
  test('has everyday words, inflected and misshapen by case, accents and width', () => {
    const words =
      'likes goes whoever tries dying hikes easier menus skied CAFÉ ｃａｆｅ karaoke paddleboarding wifi couchsurfer'
    expect(words.split(' ').filter((word) => !knows(word))).toEqual([])
  })

  test('lacks names, typing errors and gibberish', () => {
    const words = 'zlorbik Xanthorik photografy hikng mountian restaurnat qwerz jkl'
    expect(words.split(' ').filter(knows)).toEqual([])
    expect(knows('')).toBe(false)
    expect(knows('hiking zlorbik')).toBe(false)
    expect(knows('hiking trips')).toBe(true)
  })
})

describe('a topic', () => {
  const topics = readFileSync('embedder/topics.txt', 'utf8').split('\n')
    .filter((line) => line.includes(':') && !line.startsWith('#'))
    .map((line) => line.slice(line.indexOf(':') + 1).split(',').map((word) => word.trim()))

  test('has words and phrases that the model finds', () => {
    expect(topics.flat().filter((word) => !knows(word) && embed(word).every((x) => x === 0))).toEqual([])
  })

  test('has words that are nearer to each other than to the words of other topics', () => {
    const within: number[] = []
    const across: number[] = []
    topics.forEach((words, i) => {
      for (const word of words.slice(1)) {
        within.push(similarity(words[0]!, word))
        across.push(similarity(topics[(i + 1) % topics.length]![0]!, word))
      }
    })
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    expect(mean(within)).toBeGreaterThan(mean(across) + 0.25)
  })
})

describe('a phrase of a topic', () => {
  test('is read as a whole', () => {
    expect(similarity('I have two left feet', 'dancing')).toBeGreaterThan(0.5)
    expect(similarity('two feet', 'dancing')).toBeLessThan(0.3)
  })
})

describe('the glossary', () => {
  const [header = '', ...lines] = readFileSync('embedder/glossary.tsv', 'utf8').split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

  test('covers nine languages', () => {
    expect(header.split('\t')).toEqual(['english', 'es', 'pt', 'fr', 'de', 'it', 'ja', 'zh', 'nl', 'tr'])
  })

  test('has forms that the model finds, near to their English', () => {
    const pairs = lines.flatMap((line) => {
      const [english = '', ...columns] = line.split('\t')
      return columns.flatMap((column) => column.split('|')).flatMap((form) => form === '' ? [] : [[english, form]])
    })
    expect(pairs.length).toBeGreaterThan(20_000)
    // Those are stop words of some language without their accents, as `thé`.
    const unfound = pairs.filter(([, form]) => !embed(form!).some((x) => x !== 0))
    expect(unfound.length / pairs.length, unfound.map(([, form]) => form).join(' ')).toBeLessThan(0.001)
    const meanings = new Map(
      [...new Set(pairs.map(([english]) => english!))].map((english) => [english, embed(english)]),
    )
    const far = pairs.filter(([english, form]) => dot(meanings.get(english!)!, embed(form!)) < 0.5)
    expect(far.length / pairs.length).toBeLessThan(0.02)
  })

  test.each([
    ['senderismo', 'hiking', 'cooking'],
    ['randonnee', 'hiking', 'cooking'],
    ['Ich wandere gern', 'hiking', 'cooking'],
    ['我喜欢徒步和朋友', 'hiking', 'cooking'],
    ['料理が好きです', 'cooking', 'hiking'],
    ['Hafta sonu doğa yürüyüşü', 'hiking', 'cooking'],
    ['yuzmeyi seviyorum', 'swimming', 'cooking'],
  ])('reads "%s" as "%s", not as "%s"', (text, near, far) => {
    expect(similarity(text, near)).toBeGreaterThan(0.6)
    expect(similarity(text, near)).toBeGreaterThan(similarity(text, far) + 0.3)
  })

  test('does not replace an English word, but for the text of another language', () => {
    expect(similarity('a pain in my chest', 'bread')).toBeLessThan(0.2)
    expect(similarity('du pain et du fromage', 'bread')).toBeGreaterThan(0.6)
  })
})

describe('the data file', () => {
  test('has the recorded checksum', () => {
    const recorded = read('./wordnet.bin.sha256').toString()
    expect(recorded).toBe(`${createHash('sha256').update(file).digest('hex')}  wordnet.bin\n`)
  })

  test('is below 9 MB and contains its licences', () => {
    expect(file.length).toBeLessThan(9_000_000)
    const beginning = new TextDecoder().decode(file.subarray(0, 4000))
    for (const name of ['WORDNET', 'FREQUENCIES']) {
      expect(beginning).toContain(read(`./LICENSE-${name}.txt`).toString())
    }
  })

  test('may lie anywhere in a larger buffer', () => {
    const larger = new Uint8Array(file.length + 8)
    larger.set(file, 3)
    expect(loadEmbedder(larger.subarray(3, 3 + file.length)).embed('harbour')).toEqual(embed('harbour'))
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
    ['a changed word', changed(9000), /checksum does not match/],
    ['a changed last byte', changed(file.length - 1), /checksum does not match/],
  ])('is rejected if it is %s', (_, bytes, reason) => {
    expect(() => loadEmbedder(bytes)).toThrow(reason)
    expect(() => loadEmbedder(bytes)).toThrow(/^Not a data file of offline-wordnet-v3: /)
  })
})
