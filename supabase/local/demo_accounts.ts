import { isLoopbackHost, type Settings } from './settings.ts'

/** Seeded users who can log in (sql/seed/demo_conversations.sql sets the password). */
const accounts = [
  { email: 'ines.carvalho@example.com', name: 'Inês Carvalho', who: 'Inês, a local in Lisbon' },
  { email: 'tomas.novak@example.com', name: 'Tomáš Novák', who: 'Tomáš, a voyager from Leipzig' },
]
export const password = 'voyage-2026'

export const demoAccounts = ({ seed }: Settings): ((typeof accounts)[number] & { password: string })[] =>
  seed === 'demo' ? accounts.map((account) => ({ ...account, password })) : []

/** The demo page shows the passwords only where no other machine can reach it. */
export const accountsForPage = (settings: Settings) => isLoopbackHost(settings.host) ? demoAccounts(settings) : []
