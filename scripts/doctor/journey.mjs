import { randomUUID } from 'node:crypto'
import { describeFailure, expectAll, failIf, skip } from './outcome.mjs'
import { joinChannel } from './project.mjs'

/** The body of an answer that must have this status. */
const bodyOf = async (what, status, answer) =>
  (await expectAll({ [what]: answer }, (given) => given.status === status))[0].body

/** A confirmed account: by signing up, or, where addresses are confirmed, by Auth's admin API, which mails nothing. */
const createAccount = async ({ send, call, secretKey }, name) => {
  const [email, password] = [`doctor-${randomUUID()}@example.com`, randomUUID()]
  const settings = await bodyOf('Auth', 200, send('/auth/v1/settings', { as: 'publishableKey' }))
  if (settings.mailer_autoconfirm) {
    await bodyOf('signing up', 201, call('/auth/signup', { method: 'POST', json: { email, password, name } }))
  } else {
    const json = { email, password, email_confirm: true, user_metadata: { name } }
    const admin = { method: 'POST', as: 'secretKey', token: secretKey, json }
    await bodyOf('creating an account', 200, send('/auth/v1/admin/users', admin))
  }
  const login = call('/auth/login', { method: 'POST', json: { email, password } })
  const { user, access_token: token } = await bodyOf(`logging in as ${email}`, 200, login)
  return { id: user.id, token, email }
}

/** Two people meet, exchange a message and are erased. */
export const journeyOf = (project) => {
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
      failIf({ [`user:${two.id} cannot be joined by its owner: ${channel.text}`]: channel.status !== 'ok' })
      const opening = call('/conversations', { method: 'POST', json: { other_user_id: two.id }, token })
      conversation = (await bodyOf('opening a conversation', 201, opening)).id
      const path = `/conversations/${conversation}/messages`
      const { id } = await bodyOf('sending', 201, call(path, { method: 'POST', json: { content: 'Doctor' }, token }))
      const began = Date.now()
      while (!channel.events.some(({ event, payload }) => event === 'message.created' && payload?.id === id)) {
        failIf({ 'the message is stored, and its event does not arrive': Date.now() - began > timeout })
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const took = Date.now() - began
      const [read] = await bodyOf('reading', 200, call(path, { token: two.token }))
      failIf({ 'the partner does not read it': read?.content !== 'Doctor' })
      return `its event arrived ${took} ms after the answer`
    } finally {
      channel.close()
    }
  }

  /** The default is printed in the contract, so it is a recommendation and no failure. */
  const partnerEmail = async () => {
    const [{ token }, { email }] = pair()
    if (!conversation) skip('without a conversation')
    const list = await bodyOf('the list of conversations', 200, call('/conversations', { token }))
    return JSON.stringify(list).includes(email)
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
      const requests = Object.entries(own).map(([table, row]) => {
        const rows = query(`${table}?select=${row ? Object.keys(row) : '*'}&limit=2`, { token })
        return [`${table} shows others' rows, or not one's own`, rows]
      })
      const expected = Object.values(own).map((row) => JSON.stringify(row ? [row] : []))
      await expectAll(Object.fromEntries(requests), ({ body }, i) => JSON.stringify(body) === expected[i])
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
    // Also the other one if one cannot be erased.
    const outcomes = await Promise.allSettled(people.map(erase))
    const faults = outcomes.flatMap(({ reason }) => reason ? describeFailure(reason) : [])
    failIf({ [faults.join('; ')]: faults.length > 0 })
    return `${people.length} accounts are gone`
  }

  return [
    ['write: accounts', accounts],
    ['write: message and event', messageAndEvent],
    ['write: partner email', partnerEmail],
    ['write: own rows', ownRows],
    ['write: erased', erased],
  ]
}
