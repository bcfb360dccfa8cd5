// With a mock of the model that Supabase's Edge Runtime has built in. The quality of its vectors is not tested.
import { expect, test } from 'vitest'
import { run } from '../tools/supabase.ts'

const choose = async (key: string): Promise<unknown> => {
  const script = `
    globalThis.Supabase = { ai: { Session: class {
      constructor(model) { this.model = model }
      run(text, options) {
        return Promise.resolve(new Float32Array([text.length, options.mean_pool && options.normalize ? 1 : 0]))
      }
    } } }
    const { currentProvider } = await import('./functions/_shared/embeddings/current_provider.ts')
    const { name, model, embed } = currentProvider()
    const late = await embed(['hello'], AbortSignal.abort()).catch(({ name }) => name)
    const vectors = name === 'gte-small' && await embed(['hello', 'you'], AbortSignal.timeout(1000))
    console.log(JSON.stringify({ name, model, late, vectors }))`
  const { stdout } = await run('deno', ['eval', '--ext=ts', '--no-check', script], { OPENAI_API_KEY: key })
  return JSON.parse(stdout)
}

test('without an OpenAI key gte-small makes the vectors if the runtime has it, and stops when aborted', async () => {
  expect(await choose('')).toEqual({
    name: 'gte-small',
    model: 'gte-small',
    late: 'AbortError',
    vectors: [[5, 1], [3, 1]],
  })
})

test('with an OpenAI key OpenAI is used instead', async () => {
  expect(await choose('sk-test')).toMatchObject({ name: 'openai', model: 'text-embedding-3-small' })
})
