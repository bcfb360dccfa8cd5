import { randomUUID } from 'node:crypto'
import { describeFailure, expectAll, failIf } from './outcome.mjs'
import { joinChannel } from './project.mjs'

/** The body of an answer that must have this status. */
const bodyOf = async (what, status, answer) =>
  (await expectAll([[what, answer, (given) => given.status === status]]))[0].body

/** A confirmed account, which the secret key makes without a mail. */
const createAccount = async ({ call, secretKey }, name) => {
  const [email, password] = [`doctor-${randomUUID()}@example.com`, randomUUID()]
  const creating = call('/users', { method: 'POST', key: secretKey, json: { email, password, name } })
  await bodyOf('creating an account', 201, creating)
  const login = call('/auth/login', { method: 'POST', json: { email, password } })
  const { user, access_token: token } = await bodyOf(`logging in as ${email}`, 200, login)
  return { id: user.id, token, email }
}

/** One writes to the other, who receives the event, and both read their own rows alone. */
const meet = async ({ call, query, timeout }, channel, [one, two]) => {
  failIf({ [`user:${two.id} cannot be joined by its owner: ${channel.text}`]: channel.status !== 'ok' })
  const opening = call('/conversations', { method: 'POST', json: { other_user_id: two.id }, token: one.token })
  const path = `/conversations/${(await bodyOf('opening a conversation', 201, opening)).id}/messages`
  const sending = call(path, { method: 'POST', json: { content: 'Doctor' }, token: one.token })
  const { id } = await bodyOf('sending', 201, sending)
  const began = Date.now()
  while (!channel.events.some(({ event, payload }) => event === 'message.created' && payload?.id === id)) {
    failIf({ 'the message is stored, and its event does not arrive': Date.now() - began > timeout })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const took = Date.now() - began
  const [read] = await bodyOf('reading', 200, call(path, { token: two.token }))
  failIf({ 'the partner does not read it': read?.content !== 'Doctor' })

  const own = { users: 1, profiles: 1, conversations: 1, messages: 1 }
  const counts = Object.entries({ ...own, profile_interests: 0, reservations: 0, reservation_history: 0 })
  for (const { token } of [one, two]) {
    await expectAll(counts.map(([table, count]) => {
      const isRight = ({ body }) => body?.length === count
      return [`${table} shows others' rows, or not one's own`, query(`${table}?limit=2`, { token }), isRight]
    }))
  }
  // The default is printed in the contract, so this is a recommendation and no failure.
  const list = await bodyOf('the list of conversations', 200, call('/conversations', { token: one.token }))
  return `the event arrived ${took} ms after the answer; ` +
    (JSON.stringify(list).includes(two.email)
      ? 'whoever opens a conversation reads the address: a new service sets PARTNER_EMAIL=after_reply'
      : 'addresses are hidden until the partner has written')
}

export const journey = async (project) => {
  const people = []
  const visit = async () => {
    for (const name of ['Doctor One', 'Doctor Two']) people.push(await createAccount(project, name))
    const [, two] = people
    const channel = await joinChannel(project, `user:${two.id}`, true, two.token)
    return meet(project, channel, people).finally(channel.close)
  }
  const erase = async ({ id, token, email }) => {
    const erasing = project.call('/users/me', { method: 'DELETE', token })
    await bodyOf(`user ${id} (${email}) was left behind: DELETE`, 204, erasing)
    await bodyOf('the token of an erased account', 401, project.call('/users/me', { token }))
  }
  const [visited] = await Promise.allSettled([visit()])
  // Also the other one if one cannot be erased. Who is left behind comes first, since a long line is cut.
  const outcomes = [...await Promise.allSettled(people.map(erase)), visited]
  const faults = outcomes.flatMap(({ reason }) => reason ? describeFailure(reason) : [])
  failIf({ [faults.join('; ')]: faults.length > 0 })
  return `${visited.value}; users ${people.map(({ id }) => id).join(' and ')} are erased`
}
