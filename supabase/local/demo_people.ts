import { isLoopback, type Settings } from './settings.ts'

/** People of the demo world who can log in (sql/seed/demo_conversations.sql gives them the password). */
const people = [
  { email: 'ines.carvalho@example.com', who: 'Inês, a local in Lisbon' },
  { email: 'tomas.novak@example.com', who: 'Tomáš, a voyager from Leipzig' },
]
export const password = 'voyage-2026'

export const demoLogIns = ({ seed }: Settings): { email: string; who: string; password: string }[] =>
  seed === 'demo' ? people.map((person) => ({ ...person, password })) : []

/** Whoever is on another machine must know them by themselves. */
export const logInsForPage = (settings: Settings) => isLoopback(settings) ? demoLogIns(settings) : []
