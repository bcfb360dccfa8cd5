class Skipped extends Error {}
export const skip = (detail) => {
  throw new Skipped(detail)
}

/** Fails with the first of these sentences that is so. */
export const failIf = (sentences) => {
  const found = Object.entries(sentences).find(([, isSo]) => isSo)
  if (found) throw new Error(found[0])
}

/** An answer in a few words, without the rows of others. */
export const describeAnswer = ({ status, text, body }) =>
  Array.isArray(body) ? `${status} with ${body.length} rows` : `${status} ${text.slice(0, 120)}`

/** The answers to requests, by what one calls them, of which all must be right: 200 if nothing else is said. */
export const expectAll = async (requests, isRight = ({ status }) => status === 200) => {
  const answers = await Promise.all(Object.values(requests))
  const faults = Object.keys(requests).flatMap((what, i) =>
    isRight(answers[i], i) ? [] : `${what}: ${describeAnswer(answers[i])}`
  )
  failIf({ [faults.join('; ')]: faults.length > 0 })
  return answers
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
