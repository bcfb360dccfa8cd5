import { randomUUID } from 'node:crypto'
import { describeFailure, fail, skip } from './outcome.mjs'
import { describeAnswer, joinChannel } from './project.mjs'

/** The body of an answer that must have this status. */
const bodyOf = async (what, status, answer) => {
  const given = await answer
  if (given.status !== status) fail(`${what} answers ${describeAnswer(given)}`)
  return given.body
}

/** A confirmed account: by signing up, or, where addresses are confirmed, by Auth's admin API, which mails nothing. */
const createAccount = async ({ send, call, secretKey }, name) => {
  const [email, password] = [`doctor-${randomUUID()}@example.com`, randomUUID()]
  const settings = await bodyOf('Auth', 200, send('/auth/v1/settings', { as: 'publishableKey' }))
  if (settings.mailer_autoconfirm) {
    await bodyOf('signing up', 201, call('/auth/signup', { method: 'POST', json: { email, password, name } }))
  } else {
    if (!secretKey) skip('addresses are confirmed: set SUPABASE_SECRET_KEY, to create confirmed accounts')
    const json = { email, password, email_confirm: true, user_metadata: { name } }
    const admin = { method: 'POST', as: 'secretKey', token: secretKey, json }
    await bodyOf('creating an account', 200, send('/auth/v1/admin/users', admin))
  }
  const login = call('/auth/login', { method: 'POST', json: { email, password } })
  const { user, access_token: token } = await bodyOf(`logging in as ${email}`, 200, login)
  return { id: user.id, token, email }
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

  const messageAndEvent = async () => {
    const [{ token }, two] = pair()
    const channel = await joinChannel(project, `user:${two.id}`, { private: true, token: two.token })
    try {
      if (channel.status !== 'ok') fail(`user:${two.id} cannot be joined by its owner: ${channel.text}`)
      const opening = call('/conversations', { method: 'POST', json: { other_user_id: two.id }, token })
      conversation = (await bodyOf('opening a conversation', 201, opening)).id
      const path = `/conversations/${conversation}/messages`
      const { id } = await bodyOf('sending', 201, call(path, { method: 'POST', json: { content: 'Doctor' }, token }))
      const began = Date.now()
      while (!channel.events.some(({ event, payload }) => event === 'message.created' && payload?.id === id)) {
        if (Date.now() - began > timeout) fail('the message is stored, and its event does not arrive')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const took = Date.now() - began
      const [read] = await bodyOf('reading', 200, call(path, { token: two.token }))
      if (read?.content !== 'Doctor') fail('the partner does not read it')
      return `its event arrived ${took} ms after the answer`
    } finally {
      channel.close()
    }
  }

  /** The default is printed in the contract, so it is a recommendation and no failure. */
  const partnerEmail = async () => {
    const [one, two] = pair()
    if (!conversation) skip('without a conversation')
    const list = await bodyOf('the list of conversations', 200, call('/conversations', { token: one.token }))
    return JSON.stringify(list).includes(two.email)
      ? 'shown at once: whoever opens a conversation reads the address; a new service sets PARTNER_EMAIL=after_reply'
      : 'hidden until the partner has written'
  }

  const ownRows = async () => {
    for (const { id, token } of pair()) {
      const own = {
        ...{ users: { id }, profiles: { user_id: id }, conversations: { id: conversation } },
        ...{ messages: { conversation_id: conversation }, profile_interests: null },
        ...{ reservations: null, reservation_history: null },
      }
      for (const [table, row] of Object.entries(own)) {
        const columns = row ? Object.keys(row).join() : '*'
        const answer = await query(`${table}?select=${columns}&limit=2`, { token })
        if (JSON.stringify(answer.body) !== JSON.stringify(row ? [row] : [])) {
          fail(`${table} shows others' rows, or not one's own: ${describeAnswer(answer)}`)
        }
      }
    }
    return 'each sees one user, profile, conversation and message'
  }

  const erase = async ({ id, token, email }) => {
    const erasing = call('/users/me', { method: 'DELETE', token })
    await bodyOf(`user ${id} (${email}) was left behind: DELETE`, 204, erasing)
    await bodyOf('the token of an erased account', 401, call('/users/me', { token }))
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
    ['write: message and event', messageAndEvent],
    ['write: partner email', partnerEmail],
    ['write: own rows', ownRows],
    ['write: erased', erased],
  ]
}
