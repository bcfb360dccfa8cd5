import { expect, inject, test } from 'vitest'
import { openConversation, sendMessage, signUp } from '../tools/people.ts'
import { until } from '../tools/search.ts'
import { run } from '../tools/supabase.ts'

const stack = inject('stack')

test('the client module runs on Deno', async () => {
  const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
  const conversation = await openConversation(ana, ben)
  const path = `/conversations/${conversation}/messages`
  const running = run('deno', [
    ...['run', '-A', 'tests/clients/on_deno.ts', stack.origin, stack.publishableKey, ana.email, ana.password],
    String(conversation),
  ])
  // Answer only after the first message, so that the answer arrives as an event.
  await until(() => ben.call('GET', path), ({ body }) => body.length > 0, 40)
  const { id } = await sendMessage(ben, conversation, 'Welcome')
  const { code, stdout, stderr } = await running
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual(['Hello from Deno', 'Welcome'])
  const { body } = await ben.call('GET', path)
  expect(body[0]).toMatchObject({ id, read: true })
})
