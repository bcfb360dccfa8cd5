// How many words of a query count, and which belong together. What they mean is in tests/rules/search_understanding.
import { expect, test } from 'vitest'
import { readQuery } from '../../functions/users/read_query.ts'

const wordsOf = (query: string) => readQuery(query, new Set(['rock'])).words

test.each([
  ['q1 q2 q3 q4 q5 q6 q7 q8 q9 q10 q11 q12', 10],
  ['"q1 q2 q3 q4 q5 q6 q7 q8 q9 q10 q11 q12" q13', 10],
  ['q1 q2 q3 -q4 -q5 -q6 -"q7 q8" -q9 -q10 -q11 -q12 -q13 -q14', 13],
  // Of scripts without spaces three letters are a word, and one character folds into eighteen words.
  ['寿'.repeat(512), 30],
  ['q1 q2 q3 q4 q5 q6 q7 q8 q9 寿司東京', 12],
  ['\ufdfa'.repeat(512), 10],
])('of %s the first ten words count, and the first ten excluded ones', (query, count) => {
  expect(wordsOf(query)).toHaveLength(count)
})

test('words behind the tenth are not embedded either', () => {
  const ten = 'q1 q2 q3 q4 q5 q6 q7 q8 q9 q10'
  expect(readQuery(`${ten} rock "q12 q13"`, new Set()).text).toBe(ten)
})

test.each([
  ['never been to Japan hiking', ['hiking'], ['japan']],
  ["doesn't smoke vegan cook", ['vegan', 'cook'], ['smoke']],
  ['"non-smoker"', ['non', 'smoker'], []],
  ['-non-smoker', [], []],
  ['raucht nicht', [], ['raucht']],
  ["people who can't swim", [], ['swim']],
  ["can't live without coffee", ['with', 'coffee'], []],
  ['smoke-free home', ['home'], ['smoke']],
  ['no spicy food', [], ['spicy food']],
  ['not only surfers', ['surfers'], []],
])('of %s %j is wanted, and %j denied', (query, wanted, denied) => {
  const { words, excluded } = readQuery(query, new Set(query.toLowerCase().split(' ')))
  expect(words.filter((word) => !word.excluded).map(({ word }) => word)).toEqual(wanted)
  expect(excluded).toEqual(denied)
})

test('words of a quoted or excluded token are one phrase, as are letters without spaces; others are alone', () => {
  const runs = wordsOf('q1 "q2 q3" -q4-q5 寿司q6 q7').map(({ word, run }) => [word, run])
  const phrases = [['q2', 2], ['q3', 2], ['q4', 3], ['q5', 3], ['寿', 5], ['司', 5]]
  expect(runs).toEqual([['q1', undefined], ...phrases, ['q6', undefined], ['q7', undefined]])
})

test('of a last token the last word is unfinished, and every word is told that the model knows', () => {
  expect(wordsOf('rock-clim')).toMatchObject([{ word: 'rock', is_known: true }, { word: 'clim', unfinished: true }])
  expect(wordsOf('rock-clim')[0]).not.toHaveProperty('unfinished')
})
