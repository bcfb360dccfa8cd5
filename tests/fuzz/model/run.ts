import fc, { type Arbitrary } from 'fast-check'
import { signUp } from '../../tools/people.ts'
import { uniqueCity } from '../../tools/search.ts'
import { activate, block, erase, lift, report, resolve, setSearchable } from './accounts.ts'
import { compare, compareChanges } from './compare.ts'
import { arrange, open, read, readAll, removeLatest, send } from './conversations.ts'
import { type Fixture, localSide, type Model, newModel, type Real, type Talk, voyagerSide } from './model.ts'
import { answer, counter, end, offer, step } from './reservations.ts'

type Command = fc.AsyncCommand<Model, Real>
type Arbitraries<Values> = { [Key in keyof Values]: Arbitrary<Values[Key]> }

/** What any user may try at any time; the model predicts the answer. */
const command = (name: string, run: (fixture: Fixture) => unknown): Command => ({
  check: () => true,
  run: async (model, real) => void await run({ ...real, model }),
  toString: () => name,
})
/** Commands of an action with these values. */
const act = <Values extends unknown[]>(
  action: (fixture: Fixture, ...values: Values) => Promise<unknown>,
  ...values: Arbitraries<Values>
): Arbitrary<Command> =>
  fc.tuple(...values as Arbitrary<unknown>[]).map((all) =>
    command(`${action.name} ${all.join(', ')}`, (fixture) => action(fixture, ...all as Values))
  )
/** The same in one of the conversations; nothing while there are none. */
const inTalk = <Values extends unknown[]>(
  action: (fixture: Fixture, talk: Talk, ...values: Values) => Promise<unknown>,
  ...values: Arbitraries<Values>
): Arbitrary<Command> =>
  fc.tuple(which, ...values as Arbitrary<unknown>[]).map(([place, ...all]) =>
    command(`${action.name} in ${place}: ${all.join(', ')}`, (fixture) => {
      const talk = fixture.model.talks[Number(place) % Math.max(fixture.model.talks.length, 1)]
      return talk && action(fixture, talk, ...all as Values)
    })
  )

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
const stepName = fc.constantFrom('accept' as const, 'accept', 'decline', 'cancel', 'complete')
const isStale = mostly(2).map((is) => !is)
const reply = fc.constantFrom('accept' as const, 'accept', 'decline')
const stateName = fc.constantFrom('archivedAt' as const, 'muted', 'pinned')
const action = fc.constantFrom('dismiss', 'warn', 'hide', 'suspend')
const restriction = fc.constantFrom('hide' as const, 'suspend', 'suspend')
const bool = fc.boolean()

/** Each kind of command and how often it is chosen. What makes others impossible, as an erasure, is rare. */
// deno-fmt-ignore
const choices: [weight: number, arbitrary: Arbitrary<Command>][] = [
  [4, act(open, user, user)],
  [12, inTalk(send, writer, text, key)],
  [5, inTalk(read, who, nth, bool)],
  [4, inTalk(readAll)],
  [3, inTalk(removeLatest)],
  [8, inTalk(arrange, who, stateName, mostly(2))],
  [3, act(setSearchable, user, mostly(2), bool)],
  [3, act(activate, user, mostly(3))],
  [4, act(block, user, user, bool)],
  [1, fc.oneof({ weight: 2, arbitrary: act(compare, user) }, act(erase, user))],
  [5, act(compare, user)],
  // Reservations in four slots, so that those of a host overlap.
  [4, inTalk(offer, who, fc.nat({ max: 3 }), days, bool)],
  [3, inTalk(counter, who, nth, fc.constantFrom('A', 'B'), isStale)],
  [5, inTalk(step, who, nth, stepName, isStale)],
  [4, inTalk(answer, nth, reply)],
  [2, inTalk(end, nth)],
  [4, inTalk(report, who, user, fc.option(nth), bool, mostly(1))],
  [3, act(resolve, nth, action)],
  [2, act(lift, user, restriction)],
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
      command('two conversations with an offer each', async (fixture) => {
        for (const voyager of [0, 2]) await open(fixture, voyager, 1)
        await offer(fixture, fixture.model.talks[0]!, 0, 1, 2, false)
        await offer(fixture, fixture.model.talks[1]!, 1, 2, 2, true)
      }),
      ...commands,
      command('everybody compares', async (fixture) => {
        for (const caller of users.keys()) await compare(fixture, caller)
      }),
    ])
  }
  // fc.commands would try half as many on average, and most runs would end before much has happened.
  const one = fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
  const lists = fc.array(one, { minLength: perRun, maxLength: perRun, size: 'max' })
  await fc.assert(fc.asyncProperty(lists, run), { numRuns: runs, seed, endOnFailure: !shrink })
}
