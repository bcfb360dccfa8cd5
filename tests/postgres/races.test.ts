// Two people, or more, at the same thing at once.
import { test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { openAllRaces } from './races/fixture.ts'

const { url } = await useCopy('raced')
const { races } = await openAllRaces(url)
for (const { name, run } of races) test(name, run)
