import fc from 'fast-check'
import { signUp } from '../../tools/people.ts'
import { uniqueCity } from '../../tools/search.ts'
import { activate, block, erase, lift, report, resolve, setSearchable } from './accounts.ts'
import { compare, compareChanges } from './compare.ts'
import { arrange, open, read, readAll, removeLatest, send } from './conversations.ts'
import { type Command, command, localSide, newModel, voyagerSide } from './model.ts'
import { answer, counter, end, offer, step } from './reservations.ts'

const userCount = 4
const user = fc.nat({ max: userCount - 1 })
/** Mostly a participant, because everybody else is refused whatever they try. */
const who = fc.oneof(
  { weight: 4, arbitrary: fc.constant(voyagerSide) },
  { weight: 4, arbitrary: fc.constant(localSide) },
  { weight: 1, arbitrary: user },
)
/** Half of all is about one conversation and its latest, so that much happens there. */
const which = fc.oneof(fc.constant(0), fc.nat({ max: 5 }))
const nth = fc.oneof(fc.constant(0), fc.nat({ max: 3 }))
const days = fc.constantFrom(0, 1, 2)
/** The voyager writes more, who then waits for an answer. */
const writer = fc.oneof({ weight: 2, arbitrary: fc.constant(voyagerSide) }, who)
const mostly = (one: number) => fc.oneof({ weight: one, arbitrary: fc.constant(true) }, fc.constant(false))
const text = fc.constantFrom('a', 'b', '🏔️ ñ', '<i>')
const key = fc.constantFrom(
  ...Array<null>(6).fill(null),
  ...[0, 1, 2].map((index) => `00000000-0000-4000-8000-00000000000${index}`),
)
const stepName = fc.constantFrom('accept', 'accept an older offer', 'decline', 'cancel', 'complete')
const stateName = fc.constantFrom('archived' as const, 'muted' as const, 'pinned' as const)
const action = fc.constantFrom('dismiss', 'warn', 'hide', 'suspend')

/** Each kind of command and how often it is chosen. What makes others impossible, as an erasure, is rare. */
// deno-fmt-ignore
const choices: [weight: number, arbitrary: fc.Arbitrary<Command>][] = [
  [4, fc.tuple(user, user).map((all) => open(...all))],
  [12, fc.tuple(writer, which, text, key).map((all) => send(...all))],
  [5, fc.tuple(who, which, nth, fc.boolean()).map((all) => read(...all))],
  [4, which.map(readAll)],
  [3, which.map(removeLatest)],
  [8, fc.tuple(who, which, stateName, mostly(2)).map((all) => arrange(...all))],
  [3, fc.tuple(user, mostly(2), fc.boolean()).map((all) => setSearchable(...all))],
  [3, fc.tuple(user, mostly(3)).map((all) => activate(...all))],
  [4, fc.tuple(user, user, fc.boolean()).map((all) => block(...all))],
  [1, fc.oneof({ weight: 2, arbitrary: user.map(compare) }, user.map(erase))],
  [5, user.map(compare)],
  // Reservations in four slots, so that those of a host overlap.
  [4, fc.tuple(who, which, fc.nat({ max: 3 }), days, fc.boolean()).map((all) => offer(...all))],
  [3, fc.tuple(who, which, nth, fc.constantFrom('A', 'B')).map((all) => counter(...all))],
  [5, fc.tuple(who, which, nth, stepName).map((all) => step(...all))],
  [4, fc.tuple(which, nth, fc.constantFrom('accept' as const, 'accept', 'decline')).map((all) => answer(...all))],
  [2, fc.tuple(which, nth).map((all) => end(...all))],
  [4, fc.tuple(who, user, which, fc.option(nth), fc.boolean(), mostly(1)).map((all) => report(...all))],
  [3, fc.tuple(nth, action).map((all) => resolve(...all))],
  [2, fc.tuple(user, fc.constantFrom('hide' as const, 'suspend', 'suspend')).map((all) => lift(...all))],
]
const perRun = 50

/** Runs of 50 commands, each with new users, on the stack at `base`. Throws at the first difference. */
export const runModel = async (base: string, runs: number, seed: number, shrink: boolean): Promise<void> => {
  const run = async (commands: Command[]): Promise<void> => {
    const city = uniqueCity('Modelled')
    const users = await Promise.all(Array.from({ length: userCount }, (_, n) => signUp(`Person ${n}`, { city }, base)))
    await fc.asyncModelRun(() => ({ model: newModel(userCount), real: { users, city, base } }), [
      command('everybody gets a cursor', async (fixture) => {
        for (const caller of users.keys()) await compareChanges(fixture, caller)
      }),
      // Two conversations with one host, so that what follows has something to change.
      ...[open(0, 1), open(2, 1), offer(0, 0, 1, 2, false), offer(1, 1, 2, 2, true)],
      ...commands,
      ...users.map((_, one) => compare(one)),
    ])
  }
  // fc.commands would try half as many on average, and most runs would end before much has happened.
  const one = fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
  const lists = fc.array(one, { minLength: perRun, maxLength: perRun, size: 'max' })
  await fc.assert(fc.asyncProperty(lists, run), { numRuns: runs, seed, endOnFailure: !shrink })
}
