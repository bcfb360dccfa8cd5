import { describeAnswer } from './project.mjs'

class Skipped extends Error {}

export const fail = (detail) => {
  throw new Error(detail)
}
export const skip = (detail) => {
  throw new Skipped(detail)
}

/** Why a check failed, or a request of it. */
export const describeFailure = (error) => {
  const { message, code } = error.cause ?? error
  return message || code
}

// What a server answers goes to a terminal.
const oneLine = (text) => {
  // deno-lint-ignore no-control-regex
  const plain = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return plain.length > 300 ? `${plain.slice(0, 299)}…` : plain
}

/** Prints the line of a check, whose work returns what it has found; returns 'ok', 'FAIL' or 'skip'. */
export const report = async (name, work) => {
  const [status, detail] = await work().then(
    (found) => ['ok', found],
    (error) => error instanceof Skipped ? ['skip', error.message] : ['FAIL', describeFailure(error)],
  )
  console.log(`${status.padEnd(4)}  ${name.padEnd(24)}  ${oneLine(detail)}`)
  return status
}

/** The first of these sentences that is so. */
export const firstOf = (sentences) => Object.entries(sentences).find(([, isSo]) => isSo)?.[0]

const isOk = ({ status }) => status === 200

/** The work of a check of the table in checks.mjs. */
export const examine = async ({ needs, ask, right = isOk, wrong = () => ({}), say }, project) => {
  if (needs && !project[needs]) skip('SUPABASE_SECRET_KEY is not set')
  const answers = []
  const faults = []
  for (const [what, request] of Object.entries(ask)) {
    const answer = await request(project)
    answers.push(answer)
    if (!right(answer, what)) faults.push(`${what}: ${describeAnswer(answer)}`)
  }
  const fault = faults.join('; ') || firstOf(wrong(answers, project))
  if (fault) fail(fault)
  return typeof say === 'function' ? say(answers, project) : say
}
