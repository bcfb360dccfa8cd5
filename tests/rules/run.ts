/**
 * Runs the rules, or those of the files whose names begin with an argument, and prints the results as JSON.
 *   deno run -A tests/rules/run.ts [FILE …] [--only='part of a name']     STACK_LOG=1 shows what the functions log
 */
import { loadRules, runTests } from './fixture.ts'

const only = Deno.args.find((text) => text.startsWith('--only='))?.slice('--only='.length) ?? ''
const print = console.log
if (!Deno.env.get('STACK_LOG')) {
  for (const level of ['log', 'info', 'warn', 'error'] as const) console[level] = () => {}
}
await loadRules(Deno.args.filter((text) => !text.startsWith('--')))
print(JSON.stringify(await runTests({ isWanted: ({ name }) => name.includes(only) })))
Deno.exit(0)
