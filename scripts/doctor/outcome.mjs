// A check returns a detail, or throws one of these.
class Failure extends Error {}
class Skipped extends Error {}

export const fail = (detail) => {
  throw new Failure(detail)
}
export const skip = (detail) => {
  throw new Skipped(detail)
}

const reasons = {
  ENOTFOUND: 'no such host',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  CERT_HAS_EXPIRED: 'the certificate has expired',
}

/** Why a request failed, as one would say it. */
export const describeFailure = (error) => {
  if (error instanceof Failure) return error.message
  if (error.name === 'TimeoutError') return 'no answer in time'
  const { code, message } = error.cause ?? error
  return reasons[code] ?? (code && message ? `${code}: ${message}` : message)
}

// What a server answers goes to a terminal.
const oneLine = (text) => {
  // deno-lint-ignore no-control-regex
  const plain = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return plain.length > 300 ? `${plain.slice(0, 299)}…` : plain
}

/** Runs one check and prints its line; returns 'ok', 'FAIL' or 'skip'. */
export const runCheck = async (what, check) => {
  const print = (status, detail) => {
    console.log(`${status.padEnd(4)}  ${what.padEnd(24)}  ${oneLine(detail)}`)
    return status
  }
  try {
    return print('ok', await check())
  } catch (error) {
    return error instanceof Skipped ? print('skip', error.message) : print('FAIL', describeFailure(error))
  }
}
