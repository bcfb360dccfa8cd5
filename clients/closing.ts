const acts = new WeakMap<AbortSignal, Set<() => void>>()

/** Acts once the signal is aborted, unless the result is called first. Node warns of eleven listeners of one signal. */
export const onClosed = (closed: AbortSignal, act: () => void): () => void => {
  const all = acts.get(closed) ?? new Set()
  if (!acts.has(closed)) closed.addEventListener('abort', () => all.forEach((one) => one()))
  acts.set(closed, all.add(act))
  return () => void all.delete(act)
}
