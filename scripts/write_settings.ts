/** Writes .env.example and the tables of docs/settings.md from the table of the settings; with --check compares. */
import { allSettings, type Setting } from '../functions/_shared/setting_rules.ts'
import { writeOrCheck } from './write_or_check.ts'

const entries = Object.entries(allSettings)
const example = [
  '# Copy to .env, which npm start reads, and remove the # of what you change. Variables that are set in the',
  '# environment win. docs/settings.md says what each one means.',
  '',
  ...entries.filter(([, { on }]) => on !== 'supabase')
    .map(([name, setting]) => `#${name}=${setting.example ?? setting.local ?? setting.default ?? ''}`),
  '',
].join('\n')

const code = (value: string) => '`' + value + '`'
const hosted = ({ default: value, unset }: Setting) => value === undefined ? unset ?? 'none' : code(value)
const describeDefault = (setting: Setting) =>
  setting.local === undefined ? hosted(setting) : `${code(setting.local)} on one machine, else ${hosted(setting)}`

const table = (on?: Setting['on']): string => {
  const rows = entries.filter(([, setting]) => setting.on === on)
    .map(([name, setting]) => `| ${code(name)} | ${describeDefault(setting)} | ${setting.means} |`)
  const heading = on === 'supabase' ? 'set it' : 'meaning'
  return [`| name | default | ${heading} |`, '| --- | --- | --- |', ...rows, ''].join('\n')
}
const tables = [table(), table('machine'), table('supabase')]
const page = Deno.readTextFileSync(new URL('../docs/settings.md', import.meta.url))

writeOrCheck('settings', '.env.example', example)
writeOrCheck('settings', 'docs/settings.md', page.replace(/^\|[^]*?\n(?=\n|$(?![^]))/gm, () => tables.shift() ?? ''))
