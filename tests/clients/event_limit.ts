/**
 * The limit of a plan on events a second, as Supabase's Realtime counts them: each event that the database or a client
 * sends, and each delivery to a device. Every 5 s it compares the average of the last minute with the limit.
 */
export const createEventLimit = (perSecond: number) => {
  const interval = 5000
  let intervals: number[] = []
  let current = 0
  let nextCheck = Date.now() + interval
  let exceeded = false

  const check = () => {
    for (; Date.now() >= nextCheck; nextCheck += interval) {
      intervals = [current, ...intervals].slice(0, 12)
      current = 0
      const average = intervals.reduce((sum, count) => sum + count) / intervals.length / (interval / 1000)
      exceeded = average >= perSecond
    }
  }
  return {
    count() {
      check()
      current++
    },
    isExceeded() {
      check()
      return exceeded
    },
  }
}
