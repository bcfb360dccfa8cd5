const message = 'The connection is cut'

/** A socket that never opens. A real one to an unreachable address would log an error in the browser's console. */
const deadSocket = (url: string): object => {
  const nothing = () => {}
  const socket = Object.assign(new EventTarget(), {
    ...{ url, readyState: WebSocket.CLOSED, bufferedAmount: 0, send: nothing, close: nothing },
    onerror: null as ((event: Event) => void) | null,
    onclose: null as ((event: CloseEvent) => void) | null,
  })
  setTimeout(() => {
    socket.onerror?.(new Event('error'))
    socket.onclose?.(new CloseEvent('close', { code: 1006 }))
  })
  return socket
}

/**
 * The network of one pane, which can be disconnected to show that no message is lost. Calls `onChange` every second
 * while it is, with the seconds left, and with 0 at the end.
 */
export const createNetworkSimulator = (onChange: (secondsLeft: number) => void) => {
  let secondsLeft = 0
  let requests = new AbortController()
  const sockets = new Set<WebSocket>()

  /** Aborts requests and closes sockets as a lost network does: without a closing handshake. */
  const dropConnections = () => {
    requests.abort(new TypeError(message))
    requests = new AbortController()
    for (const socket of sockets) {
      const { onclose } = socket
      Object.assign(socket, { onopen: null, onmessage: null, onerror: null, onclose: null })
      socket.close()
      onclose?.call(socket, new CloseEvent('close', { code: 1006 }))
    }
    sockets.clear()
  }
  const tick = () => {
    onChange(--secondsLeft)
    if (secondsLeft) setTimeout(tick, 1000)
    // Browsers dispatch this event when the network returns.
    else dispatchEvent(new Event('online'))
  }

  return {
    fetch: (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
      if (secondsLeft) return Promise.reject(new TypeError(message))
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
    /** Blocks all traffic for this many seconds. */
    disconnect(seconds: number) {
      if (secondsLeft) return
      secondsLeft = seconds
      onChange(seconds)
      dropConnections()
      setTimeout(tick, 1000)
    },
  }
}
