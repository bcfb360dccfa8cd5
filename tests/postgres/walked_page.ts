// The command lines of docs/deploy.md, and those that cannot run here.
import { readFileSync } from 'node:fs'

/** Why a line is not run. Every other line of the page is, so a new one must work or be listed. */
export const notHere: Record<string, string> = {
  'npm ci': 'scripts/install.sh has run it',
  'npx supabase': 'names the program',
  'npx supabase config push': 'the page says not to',
  'supabase functions deploy --use-api': '`npm run deploy` runs it',
  'npm run build': '`npm run deploy` runs it',
  'npm run data': 'step 1 runs it, with the address of the database',
  'npx supabase domains create --custom-hostname api.example.com': 'asks a name server on the Internet',
  'select private.schedule_jobs()': 'only after a mistake',
  'git checkout <commit>': 'tests/postgres/upgrade.test.ts goes back',
  'git clone https://github.com/supabase/auth ../auth': 'needs the Internet',
  'git clone https://github.com/supabase/storage ../storage': 'needs the Internet',
  'SUPABASE_AUTH=../auth SUPABASE_STORAGE=../storage npm run test:platform': 'tests of their own',
  'npm run test:postgres': 'tests of their own, of which this is one',
  'MESSAGES=1000000 npm run test:postgres -- tests/postgres/upgrade': 'a test of its own',
  'npm run test:platform': 'tests of their own',
  'npm run test:realtime': 'tests of their own',
}

const isCommand = /^(\w+=\S+ )*(npx|npm|supabase|git|node|curl|select|drop|revoke|alter|create|update|delete)( |$)/

const isSql = /^(select|drop|revoke|alter|create|update|delete) /

/** Its commands in the order of the page, each once: lines of shell, scripts of SQL, what is quoted. */
export const commandsOf = (page: string): { language: 'sh' | 'sql'; text: string }[] => {
  const found = new Map<string, 'sh' | 'sql'>()
  const add = (language: 'sh' | 'sql', text: string) => found.has(text) || found.set(text, language)
  for (const part of page.matchAll(/^```(\w+)\n([^]*?)^```$|((?:(?!^```)[^])+)/gm)) {
    const [, language, block, prose] = part
    if (language === 'sql') add('sql', block!.trim())
    if (language === 'sh') block!.replaceAll(/\\\n\s*/g, '').trim().split('\n').forEach((line) => add('sh', line))
    for (const [, span] of prose?.matchAll(/`([^`]+)`/g) ?? []) {
      const text = span!.replaceAll(/\s+/g, ' ')
      if (isCommand.test(text)) add(isSql.test(text) ? 'sql' : 'sh', text)
    }
  }
  return [...found].map(([text, language]) => ({ language, text }))
}

export const commands = commandsOf(readFileSync('docs/deploy.md', 'utf8'))
