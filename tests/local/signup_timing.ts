// Run by signup_timing.test.ts: a mock of Auth with e-mail confirmation that takes three seconds to send a mail. Prints
// the answers for a taken address, one that Auth rejects as taken, and a free one.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import auth from '../../functions/auth/index.ts'

const taken = 'taken@example.com'
const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
  if (request.url.endsWith('/settings')) return Response.json({ mailer_autoconfirm: false })
  const { email } = await request.json()
  // Auth answers so if phone numbers need no confirmation.
  if (email === `rejected.${taken}`) {
    return Response.json({ error_code: 'user_already_exists', msg: '' }, { status: 422 })
  }
  if (email !== taken) await new Promise((resolve) => setTimeout(resolve, 3000))
  return Response.json({ id: crypto.randomUUID(), email, identities: [] })
})
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('SUPABASE_PUBLISHABLE_KEY', 'sb_publishable_test')
console.warn = console.error = console.info = () => {}

provideQuery((text, values) => {
  const answers: [string, unknown][] = [
    ['check_interests', true],
    ['consume_rate_limit', 0],
    ['begin_sign_up', { ticket: crypto.randomUUID(), user_id: 8 }],
    ['check_sign_up', values[0] === taken ? 'taken' : 'made'],
  ]
  return Promise.resolve([{ body: JSON.stringify(answers.find(([rpc]) => text.includes(rpc))![1]) }])
})

const signUp = async (email: string) => {
  const began = performance.now()
  const answer = await auth.fetch(
    new Request('http://x/auth/signup', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, password: 'correct horse', name: 'Ana' }),
    }),
  )
  const text = await answer.text()
  return { status: answer.status, text: text.replace(email, ''), took: performance.now() - began }
}

// The first one loads modules.
await signUp('first@example.com')
console.log(JSON.stringify([await signUp(taken), await signUp(`rejected.${taken}`), await signUp('free@example.com')]))
Deno.exit(0)
