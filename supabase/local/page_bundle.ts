import { fileURLToPath } from 'node:url'

/** Bundles a page's script with what it imports. The bundler is loaded on the first request. */
export const bundle = async (entry: URL): Promise<string> => {
  const { build } = await import('rolldown')
  const { output: [script] } = await build({
    input: fileURLToPath(entry),
    platform: 'browser',
    tsconfig: false,
    write: false,
    logLevel: 'silent',
    output: { format: 'esm', minify: true, codeSplitting: false },
  })
  return script.code
}

/** Bundles each script once. After a failure the next request tries again. */
export const openBundles = (folder: URL, build = bundle) => {
  const scripts = new Map<string, Promise<string>>()
  return (entry: string): Promise<string> => {
    const script = scripts.get(entry) ?? build(new URL(entry, folder))
    scripts.set(entry, script)
    script.catch(() => scripts.delete(entry))
    return script
  }
}
