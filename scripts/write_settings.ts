/**
 * Brings names and defaults in docs/settings.md and .env.example up to date with the table of the settings, and leaves
 * the words there; with --check compares.
 */
import { allSettings, type Setting } from '../functions/_shared/setting_rules.ts'
import { writeOrCheck } from './write_or_check.ts'

const read = (name: string): string => Deno.readTextFileSync(new URL(`../${name}`, import.meta.url))
const [page, example] = [read('docs/settings.md'), read('.env.example')]
const entries = Object.entries(allSettings)

const shown = new Map([...example.matchAll(/^#(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
const lines = entries.filter(([, { on }]) => on !== 'supabase').map(([name, { local, default: hosted }]) =>
  `#${name}=${local ?? hosted ?? shown.get(name) ?? ''}`
)

const rows = new Map(
  [...page.matchAll(/^\| `(\w+)` \| (.*) \| (.+) \|$/gm)].map(([, name, ...words]) => [name, words]),
)
const code = (value: string) => '`' + value + '`'
/** The default of a setting without a constant one is in words. */
const describeDefault = ({ local, default: hosted }: Setting, words = 'none') =>
  `${local === undefined ? '' : `${code(local)} on one machine, else `}${hosted === undefined ? words : code(hosted)}`

const table = (on?: Setting['on']): string => {
  const written = entries.filter(([, setting]) => setting.on === on).map(([name, setting]) => {
    const [words, means] = rows.get(name) ?? []
    if (!means) throw new Error(`docs/settings.md has no row that says what ${name} means`)
    return `| ${code(name)} | ${describeDefault(setting, words)} | ${means} |\n`
  })
  return `| name | default | ${on === 'supabase' ? 'set it' : 'meaning'} |\n| --- | --- | --- |\n${written.join('')}`
}
const tables = ([undefined, 'machine', 'supabase'] as const).map(table)

writeOrCheck('settings', 'docs/settings.md', page.replace(/^\|[^]*?\n(?=\n|$(?![^]))/gm, () => tables.shift() ?? ''))
writeOrCheck('settings', '.env.example', `${example.split('\n\n')[0]}\n\n${lines.join('\n')}\n`)
