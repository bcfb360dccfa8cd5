import { conversationRaces } from './conversations.ts'
import { openFixture } from './fixture.ts'
import { openRaces } from './meet.ts'
import { peopleRaces } from './people.ts'
import { workerRaces } from './workers.ts'

const open = async (...args: Parameters<typeof openRaces>) => {
  const races = await openRaces(...args)
  return { ...races, ...openFixture(races.ask) }
}
export type Races = Awaited<ReturnType<typeof open>>

/** Every race, on this database. */
export const openAllRaces = async (...args: Parameters<typeof openRaces>) => {
  const opened = await open(...args)
  const all: Record<string, () => Promise<unknown>> = {
    ...peopleRaces(opened),
    ...conversationRaces(opened),
    ...workerRaces(opened),
  }
  const races = Object.entries(all).map(([name, race]) => ({
    name,
    run: async (): Promise<void> => {
      await opened.ask`update tests.clock set ahead = '0'`
      await race()
    },
  }))
  return { ...opened, races }
}
