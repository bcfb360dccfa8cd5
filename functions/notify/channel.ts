import { asService } from '../_shared/rpc.ts'
import { log, type RequestIds } from '../_shared/log.ts'

/** What became of a claimed row; private.finish_outbox says what each means. */
export interface Outcome {
  id: number
  outcome: 'sent' | 'gone' | 'refused' | 'failed'
  reason?: string
  retry_after?: number | null
  subject?: number
}

interface Job {
  id: number
  /** Who could hold this one up: a device, its owner and the name of its push service, or the domain of an address. */
  receivers?: string[]
  /** Of what caused it. Its trace is passed on as it came, because no span is ours. */
  request?: RequestIds | null
}

interface Channel<Claimed extends Job> {
  name: string
  /** How many sends may be under way at once in this process. */
  total: number
  /** How many of them to each of a job's receivers; and whether a claim brings one job at most for such a receiver. */
  each?: readonly { bound: number; isSingle?: boolean }[]
  /** Claims at most so many rows, none of them for these receivers, as JSON. */
  claim: (room: number, busy: string[]) => Promise<string>
  send: (job: Claimed) => Promise<Outcome>
}

/** A receiver that has just become free, and others that do so within this time, are asked for together. */
const pauseMilliseconds = 20
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, pauseMilliseconds))

const store = async (channel: string, outcome: Outcome, request: Job['request']): Promise<void> => {
  if (outcome.outcome === 'failed' || outcome.outcome === 'refused') {
    log('warn', 'Notification failed', { channel, reason: outcome.reason, caused_by: request?.['x-request-id'] })
  }
  await asService`finish_outbox(${[outcome]})`
}

/**
 * Returns a function that sends what is due until the time is up, and counts it. The next send begins as soon as one
 * ends, so that a slow receiver delays only what is its own. Calls at the same time share the bounds.
 */
export const openChannel = <Claimed extends Job>({ name, total, each = [], claim, send }: Channel<Claimed>) => {
  const underWay = new Map<string, { count: number; bound: number; isSingle?: boolean }>()
  let sending = 0

  const take = ({ receivers = [] }: Claimed, change: 1 | -1): void => {
    sending += change
    for (const [index, receiver] of receivers.entries()) {
      const count = (underWay.get(receiver)?.count ?? 0) + change
      if (count) underWay.set(receiver, { count, ...each[index]! })
      else underWay.delete(receiver)
    }
  }
  /** How many rows to claim: all of them may be for one receiver, and for any other than the busy ones. */
  const room = (): number => {
    const unused = each.map(({ bound, isSingle }) => ({ count: 0, bound, isSingle }))
    const free = [...unused, ...underWay.values()]
      .filter(({ count, bound, isSingle }) => !isSingle && count < bound)
      .map(({ count, bound }) => bound - count)
    return Math.min(total - sending, ...free)
  }

  return async (isTime: () => boolean): Promise<number> => {
    let sent = 0
    const own = new Set<Promise<void>>()
    const failures: unknown[] = []
    const start = (job: Claimed): void => {
      const deliver = async () => {
        const outcome = await send(job)
        await store(name, outcome, job.request)
        if (outcome.outcome === 'sent') sent++
      }
      take(job, 1)
      const work: Promise<void> = deliver().catch((error) => void failures.push(error)).finally(() => {
        take(job, -1)
        own.delete(work)
      })
      own.add(work)
    }
    try {
      while (isTime() && failures.length === 0) {
        const places = room()
        const busy = [...underWay].filter(([, { count, bound }]) => count >= bound).map(([receiver]) => receiver)
        const jobs: Claimed[] = places > 0 ? JSON.parse(await claim(places, busy)) : []
        jobs.forEach(start)
        if (jobs.length > 0) continue
        if (own.size === 0) {
          if (places > 0) break
        } else await Promise.race(own)
        await pause()
      }
    } finally {
      await Promise.all(own)
    }
    if (failures.length > 0) throw failures[0]
    return sent
  }
}
