import { describe, expect, test } from 'vitest'
import { wordsOf } from '../../functions/_shared/fold.ts'
import type { Place, Wanted } from '../../functions/_shared/find_words.ts'
import { highlight, type Hit } from '../../functions/users/highlight.ts'

type Words = Wanted['words']
const exactly = (...words: string[]): Words => words.map((word) => ({ word, typos: 0, prefix: false }))
const beginning = (word: string): Words => [{ word, typos: 0, prefix: true }]
const corrected = (word: string, typos: number): Words => [{ word, typos, prefix: false }]
/** What a query looks for, unit by unit. */
const looking = (...units: (Words | Partial<Wanted>)[]): Wanted[] =>
  units.map((given, index) => ({
    ...{ unit: index + 1, phrase: false, quoted: false, common: false, words: [] },
    ...Array.isArray(given) ? { words: given } : given,
  }))
const phrase = (...words: string[]): Partial<Wanted> => ({ phrase: true, words: exactly(...words) })

const empty: Hit = { name: '', city: null, country: null, biography: null, interests: [] }
const highlightOne = (hit: Partial<Hit>, wanted: Wanted[]) => highlight([{ ...empty, ...hit }], wanted)[0]!
const pointsOf = (text: string, { start, length }: Place) => [...text].slice(start, start + length).join('')
/** What is marked in a biography, as it is written. */
const marked = (biography: string, wanted: Wanted[]): string[] => {
  const { _matches: { biography: places = [] } } = highlightOne({ biography }, wanted)
  return places.map((place) => pointsOf(biography, place))
}

test('nothing is marked in an empty text, nor in one of signs', () => {
  for (const text of ['', ' \u0301 … —']) expect(marked(text, looking(beginning('a'), exactly('-')))).toEqual([])
})

test('of any text the marked words are those of the index, in places that have them', () => {
  const signs =
    "aeßﬁ\u0301\u0308 -京かไ\u0e34½ŉİé\n\u200d🎷\ufe0f\u1100\u1161ﷺй\u0438\u0306_.㍿\u00ad\uff76\uff9e'\u0939\u093f×ουΣё"
  const pieces = [...signs, 'か\u3099']
  let state = 1
  const draw = () => pieces[(state = state * 48271 % 2147483647) % pieces.length]!
  for (let number = 0; number < 150; number++) {
    const text = Array.from({ length: 12 }, draw).join('')
    for (const word of wordsOf(text)) {
      const { _matches: { biography: places = [] } } = highlightOne({ biography: text }, looking(exactly(word)))
      expect({ text, word, places: places.length > 0 }).toEqual({ text, word, places: true })
      for (const place of places) {
        const covered = pointsOf(text, place)
        expect({ text, covered, words: wordsOf(covered) }).toMatchObject({ words: expect.arrayContaining([word]) })
        expect([...covered].length).toBe(place.length)
      }
    }
  }
})

describe('what is marked', () => {
  const alternatives = [...exactly('photography'), ...corrected('photographer', 1), ...corrected('photograph', 2)]
  // deno-fmt-ignore
  test.each<[string, string, Wanted[], string[]]>([
    ['a word, wherever it stands', 'jazz, Jazz and all that JAZZ', looking(exactly('jazz')), ['jazz', 'Jazz', 'JAZZ']],
    ['no word that only has it within', 'jazzy acid-jazz', looking(exactly('jazz')), ['jazz']],
    ['what begins so', 'Zwetschgenkuchen and zwei', looking(beginning('zwetsch')), ['Zwetschgenkuchen']],
    ['a phrase as one', 'we bake bread, and bake no more bread', looking(phrase('bake', 'bread')), ['bake bread']],
    ['a phrase across signs', 'New—York, new “york” york new', looking(phrase('new', 'york')),
      ['New—York', 'new “york']],
    ['a phrase that repeats its word', 'that that that is', looking(phrase('that', 'that')), ['that that that']],
    ['a run of letters', '東京の寿司と東の京', looking(phrase('東', '京')), ['東京']],
    ['two words that touch as one', '寿司', looking(exactly('寿'), exactly('司')), ['寿司']],
    ['two words beside each other as two', 'jazz tea', looking(exactly('jazz'), exactly('tea')), ['jazz', 'tea']],
    ['a phrase and a word of it as one', 'green tea', looking(phrase('green', 'tea'), exactly('tea')), ['green tea']],
    ['a phrase and a word within it as one', 'new york city', looking(phrase('new', 'york', 'city'), exactly('york')),
      ['new york city']],
    ['what may be meant in two ways, as the closer', 'jazz jass',
      looking([...exactly('jazz'), ...corrected('jazz', 2), ...corrected('jass', 1)]), ['jazz']],
    ['the closest of the alternatives', 'photographer photograph', looking(alternatives), ['photographer']],
    ['all that are as close', 'photograph photograph', looking(alternatives), ['photograph', 'photograph']],
    ['nothing for nothing', 'jazz', [], []],
  ])('%s', (_, text, wanted, expected) => expect(marked(text, wanted)).toEqual(expected))

  test('the fewest typing errors count in all fields of a hit, and each hit for itself', () => {
    const hits = [{ ...empty, name: 'Photography', biography: 'photographer' }, { ...empty, biography: 'photographer' }]
    const [first, second] = highlight(hits, looking(alternatives))
    expect(first!._matches).toEqual({ name: [{ start: 0, length: 11 }] })
    expect(Object.keys(second!._matches)).toEqual(['biography', '_snippet'])
  })

  const the = { words: exactly('the'), common: true }
  const all = ['the', 'jazz', 'the']
  test.each<[string, string[], Wanted[]]>([
    ['what half of the profiles have is not marked beside rarer words', ['jazz'], looking(the, exactly('jazz'))],
    ['words that fewer have are all marked', all, looking(exactly('the'), exactly('jazz'))],
    ['as they are if all words are such', all, looking(the, { words: exactly('jazz'), common: true })],
    ['or quoted', all, looking({ ...the, quoted: true }, exactly('jazz'))],
  ])('%s', (_, expected, wanted) => expect(marked('the jazz of the hills', wanted)).toEqual(expected))

  test('a letter is marked only where another word of the query follows', () => {
    const text = 'Dan O’Brien, o Brien or Brien. O, not o’clock'
    expect(marked(text, looking(exactly('o'), exactly('brien')))).toEqual(['O', 'Brien', 'o', 'Brien', 'Brien'])
    expect(marked('o a', looking(exactly('o')))).toEqual(['o'])
    expect(marked('o a', looking({ words: exactly('o'), quoted: true }, exactly('x')))).toEqual(['o'])
  })

  test('each field has its own places, and interests say which', () => {
    const texts = { name: 'Jazz Jones', city: 'Jazzville', country: null, biography: 'No jazz' }
    const hit = { ...texts, interests: ['Tea', 'Acid jazz', 'Jazz'] }
    expect(highlightOne(hit, looking(beginning('jazz')))).toEqual({
      ...hit,
      _snippet: 'No jazz',
      _matches: {
        name: [{ start: 0, length: 4 }],
        city: [{ start: 0, length: 9 }],
        biography: [{ start: 3, length: 4 }],
        interests: [{ index: 1, start: 5, length: 4 }, { index: 2, start: 0, length: 4 }],
        _snippet: [{ start: 3, length: 4 }],
      },
    })
    expect(highlightOne({ interests: ['Jazz', 'Jazz'] }, looking(exactly('jazz')))._matches.interests).toHaveLength(2)
  })
})

describe('a snippet', () => {
  const snippetOf = (biography: string | null, ...words: string[]) =>
    highlightOne({ biography }, looking(...words.map((word) => exactly(word))))
  const shown = (biography: string, ...words: string[]) => {
    const { _snippet, _matches } = snippetOf(biography, ...words)
    return (_matches._snippet ?? []).map((place) => pointsOf(_snippet!, place))
  }

  test.each([null, '', 'short', 'x'.repeat(160), '🎷'.repeat(160)])('is all of a short biography: %s', (text) => {
    expect(snippetOf(text, 'jazz')._snippet).toBe(text)
  })
  const [words, letters] = ['word '.repeat(30), '東'.repeat(200)]
  // deno-fmt-ignore
  test.each([
    ['is the beginning of one without matches', 'word '.repeat(60), 'jazz', /^(word ){31}word…$/],
    ['is cut between words, around the match', `${words}jazz ${words}`, 'jazz', /^…(word ){15}jazz( word){15}…$/],
    ['is cut between letters in scripts without spaces', `${letters}京${letters}`, '京', /^…東{78}京東{79}…$/],
    ['is cut within a word only if nothing else is left', 'x'.repeat(400), 'jazz', /^x{159}…$/],
    ['also if the word is the match', 'x'.repeat(400), 'x'.repeat(60), /^x{158}…$/],
    ['ends with the end of the biography, and with no ellipsis there', `${words}${words}jazz`, 'jazz',
      /^…(word ){31}jazz$/],
    ['shows the first of equal places', `one tea ${words}${words}two tea ${words}${words}`, 'tea', /^one tea/],
  ])('%s', (_, text, word, expected) => expect(snippetOf(text, word)._snippet).toMatch(expected))
  test.each([['a', 400], ['🎷', 400], ['é\u0301', 300], ['か\u3099', 300], ['ก\u0e34', 300], ['word ', 200]])(
    'has 160 characters at most, with the ellipses, and never begins or ends before a mark: %s',
    (piece, count) => {
      const places = [0, 1, 2, 3, 70, 71, 72, 73, 150, 151, count - 1]
      for (const [before, word] of places.flatMap((place) => [[place, 'jazz'], [place, 'jazzy']] as const)) {
        const text = `${piece.repeat(before)} ${word} ${piece.repeat(count - before)}`.trimStart()
        const { _snippet } = snippetOf(text, word)
        expect([..._snippet!].length).toBeLessThanOrEqual(160)
        expect(_snippet).toMatch(/^…?[^…\p{M}\s]/u)
        const inside = _snippet!.replace(/^…|…$/g, '')
        expect(text.slice(text.indexOf(inside) + inside.length)).not.toMatch(/^\p{M}/u)
        expect(shown(text, word)).toEqual([word])
      }
    },
  )
  test('shows where most words of the query stand together, not where one stands most often', () => {
    const text = `${'jazz '.repeat(20)}${'word '.repeat(50)}jazz and tea ${'word '.repeat(50)}`
    expect(shown(text, 'jazz', 'tea')).toEqual(['jazz', 'tea'])
  })
  test('and where one stands most often if they stand apart', () => {
    const text = `jazz jazz ${'word '.repeat(60)}tea ${'word '.repeat(60)}`
    expect(shown(text, 'jazz', 'tea')).toEqual(['jazz', 'jazz'])
  })
  test('cuts a match that is longer than it', () => {
    const text = `${'word '.repeat(50)}${'東'.repeat(300)}`
    const { _snippet, _matches } = highlightOne({ biography: text }, looking(exactly('東')))
    expect([_matches.biography, _matches._snippet]).toEqual([
      [{ start: 250, length: 300 }],
      [{ start: [..._snippet!].indexOf('東'), length: [..._snippet!].filter((letter) => letter === '東').length }],
    ])
  })
})

describe('a hundred biographies of 5,000 characters full of matches are quick', () => {
  const hundred = (piece: string): Hit[] =>
    Array.from({ length: 100 }, () => ({ ...empty, biography: piece.repeat(Math.floor(5000 / [...piece].length)) }))
  test.each<[string, string, Wanted[]]>([
    ['of one letter', 'a ', looking(exactly('a'), exactly('b'))],
    ['of a phrase at each letter', '東', looking(phrase(...'東'.repeat(20)))],
    ['of spaces', ' ', looking(exactly('a'))],
    ['of marks', '\u0301', looking(exactly('a'))],
  ])('%s', (_, piece, wanted) => {
    // Processor time, which other work on the machine does not lengthen.
    const begun = process.cpuUsage()
    expect(highlight(hundred(piece), wanted)).toHaveLength(100)
    expect(process.cpuUsage(begun).user).toBeLessThan(10_000_000)
  })
})
