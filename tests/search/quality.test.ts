// nDCG@10 of each kind of query and mode, as bench/search/quality.ts printed it for the code that was committed. After
// an improvement, write its last line into figures.json.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { isDue } from '../tools/changed.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'

type Figures = Record<string, Record<string, number>>

const sets = ['labelled', 'unseen', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'tastes']
const isWanted = isDue('sql/data', 'sql/schema/60_search', 'functions', 'embedder', 'bench/search', 'tests/search')

describe.runIf(isWanted).each(sets)('the set %s', (set) => {
  const committed: Figures = JSON.parse(readFileSync(`tests/search/${set}/figures.json`, 'utf8'))
  let measured: Figures

  beforeAll(async () => {
    const DATABASE_URL = await makeDatabase(set)
    measured = await runScript<Figures>('bench/search/quality.ts', [`--set=${set}`], { DATABASE_URL })
  })

  test('has every kind of query', () => {
    const modesOf = (figures: Figures) => Object.entries(figures).map(([kind, modes]) => [kind, Object.keys(modes)])
    expect(modesOf(measured)).toEqual(modesOf(committed))
  })

  test.each(Object.entries(committed))('queries of kind %s are answered as well as before', (kind, modes) => {
    const worse = Object.entries(modes).filter(([mode, ndcg]) => measured[kind]![mode]! < ndcg - 0.02)
    expect(worse.map(([mode, ndcg]) => ({ mode, ndcg, now: measured[kind]![mode] }))).toEqual([])
  })

  test('callers whose interests have nothing to do with the query lose at most .01 by them', () => {
    expect(measured.all!.stranger).toBeGreaterThanOrEqual(measured.all!.token! - 0.01)
  })

  if (set === 'tastes') {
    test('three of four callers with a taste see their own kind first', () => {
      expect(measured.taste!.own).toBeGreaterThanOrEqual(0.75)
    })
  }
})
