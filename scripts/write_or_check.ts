/** Writes a generated file of the repository; with --check it only compares. */
export const writeOrCheck = (command: string, name: string, text: string): void => {
  const file = new URL(`../${name}`, import.meta.url)
  if (!Deno.args.includes('--check')) return Deno.writeTextFileSync(file, text)
  if (Deno.readTextFileSync(file) === text) return
  console.error(`${name} is not up to date; run npm run ${command}`)
  Deno.exitCode = 1
}
