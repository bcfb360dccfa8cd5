/** Fails with the first of these sentences that is so. */
export const failIf = (sentences) => {
  const found = Object.entries(sentences).find(([, isSo]) => isSo)
  if (found) throw new Error(found[0])
}

/**
 * The answers to requests, each `[what, request, isRight]`, all of which must be right: by default that is a 200. A
 * failure shows no rows of others.
 */
export const expectAll = async (requests) => {
  const answers = await Promise.all(requests.map(([, request]) => request))
  const faults = requests.flatMap(([what, _, isRight = ({ status }) => status === 200], i) => {
    const { status, text, body } = answers[i]
    const shown = Array.isArray(body) ? `with ${body.length} rows` : text.slice(0, 120)
    return isRight(answers[i]) ? [] : `${what}: ${status} ${shown}`
  })
  failIf({ [faults.join('; ')]: faults.length > 0 })
  return answers
}

/** Why a check failed, or a request of it. */
export const describeFailure = ({ message, code, cause }) => cause?.message || cause?.code || message || code

/** Prints the line of a check, whose work returns what it has found; returns 'ok' or 'FAIL'. */
export const report = async (name, work) => {
  const [status, detail] = await work().then((found) => ['ok', found], (error) => ['FAIL', describeFailure(error)])
  // What a server answers goes to a terminal.
  const plain = detail.replaceAll(/\p{Cc}+/gu, ' ').trim()
  console.log(`${status.padEnd(4)}  ${name.padEnd(16)}  ${plain.length > 300 ? `${plain.slice(0, 299)}…` : plain}`)
  return status
}
