import { randomUUID } from 'node:crypto'
import { describeAnswer } from './project.mjs'
import { describeFailure, fail, skip } from './outcome.mjs'
import { openRealtime } from './realtime.mjs'
import { readClaims } from './tokens.mjs'

const authorization = (token) => ({ headers: { Authorization: `Bearer ${token}` } })

/** A confirmed account: by signing up, or, where addresses are confirmed, by Auth's admin API, which mails nothing. */
const createAccount = async ({ send, call, publishableKey, secretKey }, name) => {
  const email = `doctor-${randomUUID()}@example.com`
  const password = randomUUID()
  const settings = await send('/auth/v1/settings', { key: publishableKey })
  const signsUp = settings.body?.mailer_autoconfirm === true
  if (!signsUp && !secretKey) skip('addresses are confirmed: set SUPABASE_SECRET_KEY, to create confirmed accounts')
  const created = signsUp
    ? await call('/auth/signup', { method: 'POST', json: { email, password, name } })
    : await send('/auth/v1/admin/users', {
      method: 'POST',
      key: secretKey,
      headers: { Authorization: `Bearer ${secretKey}` },
      json: { email, password, email_confirm: true, user_metadata: { name } },
    })
  if (created.status >= 300) fail(`creating an account answers ${describeAnswer(created)}`)
  const login = await call('/auth/login', { method: 'POST', json: { email, password } })
  if (login.status !== 200) fail(`logging in as ${email} answers ${describeAnswer(login)}`)
  return { id: login.body.user.id, token: login.body.access_token, email }
}

/** Two people meet, exchange a message and are erased. */
export const journeyChecks = (project) => {
  const { call, query, timeout } = project
  const people = []
  let conversation
  const pair = () => people.length === 2 ? people : skip('without accounts')

  const accounts = async () => {
    for (const name of ['Doctor One', 'Doctor Two']) people.push(await createAccount(project, name))
    return `users ${people.map(({ id }) => id).join(' and ')}`
  }

  const tokenTimes = () => {
    const { iat, exp } = readClaims(pair()[0].token)
    const skew = Math.abs(Date.now() / 1000 - iat)
    if (skew > 30) fail(`a new token was issued ${Math.round(skew)} s from now: a clock is wrong`)
    if (exp - iat < 300 || exp - iat > 86_400) fail(`tokens are valid for ${exp - iat} s`)
    return `issued ${skew.toFixed(1)} s from now, valid for ${exp - iat} s`
  }

  const messageAndEvent = async () => {
    const [one, two] = pair()
    const realtime = await openRealtime(project)
    try {
      const { status, reason } = await realtime.join(`user:${two.id}`, { private: true }, two.token)
      if (status !== 'ok') fail(`user:${two.id} cannot be joined by its owner: ${reason}`)
      const opened = await call('/conversations', {
        method: 'POST',
        json: { other_user_id: two.id },
        ...authorization(one.token),
      })
      if (opened.status !== 201) fail(`opening a conversation answers ${describeAnswer(opened)}`)
      conversation = opened.body.id
      const path = `/conversations/${conversation}/messages`
      const sent = await call(path, { method: 'POST', json: { content: 'Doctor' }, ...authorization(one.token) })
      if (sent.status !== 201) fail(`sending answers ${describeAnswer(sent)}`)
      const began = Date.now()
      const arrived = () =>
        realtime.received.some(({ event, payload }) =>
          event === 'broadcast' && payload.event === 'message.created' && payload.payload?.id === sent.body.id
        )
      while (!arrived()) {
        if (Date.now() - began > timeout) fail('the message is stored, and its event does not arrive')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const read = await call(path, authorization(two.token))
      if (read.body?.[0]?.content !== 'Doctor') fail(`the partner reads ${describeAnswer(read)}`)
      return `its event arrived ${Date.now() - began} ms after the answer`
    } finally {
      realtime.close()
    }
  }

  /** The default is printed in the contract, so it is a recommendation and no failure. */
  const partnerEmail = async () => {
    if (!conversation) skip('without a conversation')
    const [one, two] = pair()
    const list = await call('/conversations', authorization(one.token))
    if (list.status !== 200) fail(`the list of conversations answers ${describeAnswer(list)}`)
    return list.text.includes(two.email)
      ? 'shown at once: whoever opens a conversation reads the address; a new service sets PARTNER_EMAIL=after_reply'
      : 'hidden until the partner has written'
  }

  const ownRows = async () => {
    for (const { id, token } of pair()) {
      const own = {
        users: { id },
        profiles: { user_id: id },
        conversations: { id: conversation },
        messages: { conversation_id: conversation },
        profile_interests: null,
        reservations: null,
        reservation_history: null,
      }
      for (const [table, row] of Object.entries(own)) {
        const columns = row ? Object.keys(row).join() : '*'
        const { body, ...answer } = await query(`${table}?select=${columns}&limit=2`, authorization(token))
        if (JSON.stringify(body) !== JSON.stringify(row ? [row] : [])) {
          fail(`${table} shows others' rows, or not one's own: ${describeAnswer(answer)}`)
        }
      }
    }
    return 'each sees one user, profile, conversation and message'
  }

  const erase = async ({ id, token, email }) => {
    const answer = await call('/users/me', { method: 'DELETE', ...authorization(token) })
    if (answer.status !== 204) fail(`user ${id} (${email}) was left behind: ${describeAnswer(answer)}`)
    const after = await call('/users/me', authorization(token))
    if (after.status !== 401) fail(`the token of an erased account is answered with ${describeAnswer(after)}`)
  }

  const erased = async () => {
    if (people.length === 0) skip('without accounts')
    const faults = []
    // Also the other one if one cannot be erased.
    for (const person of people) await erase(person).catch((error) => faults.push(describeFailure(error)))
    if (faults.length > 0) fail(faults.join('; '))
    return people.length === 2 ? 'both accounts are gone' : 'the account is gone'
  }

  return [
    ['write: accounts', accounts],
    ['write: token times', tokenTimes],
    ['write: message and event', messageAndEvent],
    ['write: partner email', partnerEmail],
    ['write: own rows', ownRows],
    ['write: erased', erased],
  ]
}
