/** The project to check: its origin, its keys, and how to send requests to it. */

export const parseJson = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Redirects are not followed, so that no key reaches another host. `timeout` in milliseconds includes reading the
 * answer.
 */
export const openProject = ({ url, publishableKey, secretKey, timeout }) => {
  const send = async (path, { method = 'GET', key, headers = {}, json } = {}) => {
    const response = await fetch(new URL(path, url), {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
      headers: {
        ...(key && { apikey: key }),
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parseJson(text) }
  }
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  return {
    url,
    publishableKey,
    secretKey,
    timeout,
    isLoopback,
    send,
    /** An Edge Function. */
    call: (path, options) => send(`/functions/v1${path}`, options),
    /** The Data API, with the publishable key unless another one is given. */
    query: (path, options) => send(`/rest/v1/${path}`, { key: publishableKey, ...options }),
  }
}

/** An answer in a few words. */
export const describeAnswer = ({ status, text }) => `${status} ${text.slice(0, 120)}`
