/** Writes .env.example and the tables of docs/settings.md from the table of the settings; with --check compares. */
import { allSettings, type Setting } from '../functions/_shared/setting_rules.ts'

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
  return [
    `| name | default | ${on === 'supabase' ? 'set it' : 'meaning'} |`,
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

const page = new URL('../docs/settings.md', import.meta.url)
const tables = ([undefined, 'machine', 'supabase'] as const).map(table)
const written = Deno.readTextFileSync(page).replace(/^\|[^]*?\n(?=\n|$(?![^]))/gm, () => tables.shift() ?? '')

const files: [URL, string][] = [[new URL('../.env.example', import.meta.url), example], [page, written]]
for (const [file, text] of files) {
  if (!Deno.args.includes('--check')) Deno.writeTextFileSync(file, text)
  else if (Deno.readTextFileSync(file) !== text) {
    console.error(`${file.pathname.split('/').at(-1)} is not up to date; run npm run settings`)
    Deno.exit(1)
  }
}
