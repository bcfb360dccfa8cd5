/** The connection of one pane, which can be cut to see what becomes of what is said meanwhile. */
export interface Line {
  fetch: typeof fetch
  transport: typeof WebSocket
  /** Nothing goes out or comes in for so many seconds. */
  cut(seconds: number): void
}

const lost = 'The connection is cut'

/** A socket that never opens. A real one to nowhere would do, too, but is an error in the browser's console. */
const deadSocket = (url: string): object => {
  const socket = {
    url,
    readyState: WebSocket.CLOSED,
    bufferedAmount: 0,
    onerror: null as ((event: Event) => void) | null,
    onclose: null as ((event: CloseEvent) => void) | null,
    send() {},
    close() {},
    addEventListener() {},
    removeEventListener() {},
  }
  setTimeout(() => {
    socket.onerror?.(new Event('error'))
    socket.onclose?.(new CloseEvent('close', { code: 1006 }))
  })
  return socket
}

/** `told` hears how many seconds the line stays cut, every second, and 0 at the end. */
export const openLine = (told: (seconds: number) => void): Line => {
  let secondsLeft = 0
  let requests = new AbortController()
  const sockets = new Set<WebSocket>()

  /** What was on its way is lost, and nobody says goodbye. */
  const hangUp = () => {
    requests.abort(new TypeError(lost))
    requests = new AbortController()
    for (const socket of sockets) {
      const hear = socket.onclose
      socket.onopen =
        socket.onmessage =
        socket.onerror =
        socket.onclose =
          null
      socket.close()
      hear?.call(socket, new CloseEvent('close', { code: 1006 }))
    }
    sockets.clear()
  }
  const tick = () => {
    told(--secondsLeft)
    if (secondsLeft) setTimeout(tick, 1000)
    // As a browser does when the network is back.
    else dispatchEvent(new Event('online'))
  }

  return {
    fetch: (input, init) => {
      if (secondsLeft) return Promise.reject(new TypeError(lost))
      const signal = init?.signal ? AbortSignal.any([init.signal, requests.signal]) : requests.signal
      return fetch(input, { ...init, signal })
    },
    transport: new Proxy(WebSocket, {
      construct(target, [url, protocols]: [string, string | string[] | undefined]) {
        if (secondsLeft) return deadSocket(url)
        const socket = new target(url, protocols)
        sockets.add(socket)
        socket.addEventListener('close', () => sockets.delete(socket))
        return socket
      },
    }),
    cut(seconds) {
      if (secondsLeft) return
      secondsLeft = seconds
      told(seconds)
      hangUp()
      setTimeout(tick, 1000)
    },
  }
}
