import { allSettings } from '../../functions/_shared/setting_rules.ts'

const plain = (markdown: string): string => markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')

/** What `npm start -- --help` prints: the settings of the table that docs/settings.md is written from. */
export const help = (): string => {
  const settings = Object.entries(allSettings).filter(([, { on }]) => on !== 'supabase')
  const lines = settings.map(([name, { local, default: value = local, unset = 'none', means }]) => {
    const shown = local ?? value ?? plain(unset)
    return `  ${name}\n      ${plain(means)} (default: ${shown})`
  })
  return [
    'npm start: the whole stack on one machine. Ctrl-C stops it.',
    '',
    '  PORT=8080 npm start          on another port; SETTING=value sets any of the settings below',
    '  HOST=0.0.0.0 npm start       also for other machines and phones of the network',
    '  DATA_DIR=memory npm start    keeps nothing',
    '  npm run demo:reset           the demo world as it was, after a stop',
    '',
    'Settings, from the environment or else from the file .env:',
    '',
    ...lines,
  ].join('\n')
}
