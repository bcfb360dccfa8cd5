import { asService } from '../_shared/rpc.ts'
import { log } from '../_shared/log.ts'

/** What became of a claimed row; private.finish_outbox says what each means. */
export interface Outcome {
  id: number
  outcome: 'sent' | 'gone' | 'failed'
  reason?: string
  retry_after?: number | null
  subject?: number
}

/** Stores what became of rows. */
export const finish = async (channel: string, outcomes: Outcome[]): Promise<void> => {
  for (const { outcome, reason } of outcomes) {
    if (outcome === 'failed') log('warn', 'Notification failed', { channel, reason })
  }
  await asService`finish_outbox(${outcomes})`
}

/** Claims rows and sends them at the same time, until none is due or the time is up. Returns how many were sent. */
export const drainChannel = async <Job extends { id: number }>(
  channel: string,
  { claim, send, isTime }: {
    claim: () => Promise<string>
    send: (job: Job) => Promise<Outcome>
    isTime: () => boolean
  },
): Promise<number> => {
  let sent = 0
  while (isTime()) {
    const jobs: Job[] = JSON.parse(await claim())
    if (jobs.length === 0) break
    const outcomes = await Promise.all(jobs.map(send))
    await finish(channel, outcomes)
    sent += outcomes.filter(({ outcome }) => outcome === 'sent').length
  }
  return sent
}
