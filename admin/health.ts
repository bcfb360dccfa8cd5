import { button, el } from '../demo/dom.ts'
import { pluralize } from '../demo/format.ts'
import { rpc } from './api.ts'
import { moment, openView, type View } from './view.ts'

export interface Queue {
  queue: string
  waiting: number
  oldest_seconds: number
  /** Null where nothing is tried eight times. */
  dead: number | null
}

interface Job {
  job: string
  schedule: string
  last_start: string | null
  last_status: string | null
  last_message: string | null
  failures: number
}

export const names: Record<string, string> = {
  reports: 'Open reports',
  person: 'People to be told of something',
  push: 'Pushes to be sent',
  mail: 'Mails to be sent',
  webhook: 'Calls of the webhook to be made',
  embeddings: 'Profiles that the search has not read yet',
}

export const age = (seconds: number): string =>
  seconds < 1
    ? '–'
    : seconds < 120
    ? pluralize(Math.round(seconds), 'second', 'seconds')
    : seconds < 7200
    ? `${Math.round(seconds / 60)} minutes`
    : seconds < 172_800
    ? `${Math.round(seconds / 3600)} hours`
    : `${Math.round(seconds / 86_400)} days`

/** The alerts of docs/runbook.md. People set the delay of what waits for them, and reports wait for an admin. */
export const state = ({ queue, oldest_seconds, dead }: Queue): string => {
  if (dead) return `${dead} given up after eight tries`
  return oldest_seconds > 300 && !['person', 'reports'].includes(queue) ? 'Late' : 'Fine'
}

const table = (caption: string, heads: string[], rows: (string | Node)[][]): HTMLElement => {
  const row = ([first, ...others]: (string | Node)[]) =>
    el('tr', el('th', { scope: 'row' }, first), ...others.map((cell) => el('td', cell)))
  const head = el('thead', el('tr', ...heads.map((text) => el('th', { scope: 'col' }, text))))
  const whole = el('table', el('caption', caption), head, el('tbody', ...rows.map(row)))
  return el('div.card.wide', { tabindex: '0', role: 'region', 'aria-label': caption }, whole)
}

/** What waits, for how long, and when the schedule ran. */
export const openHealth = (): View => {
  return openView([], async (view) => {
    const [queues, jobs] = await Promise.all([rpc<Queue[]>('describe_queues'), rpc<Job[]>('describe_schedule')])
    const waiting = queues.map((queue): (string | Node)[] => [
      names[queue.queue] ?? queue.queue,
      `${queue.waiting}`,
      age(Number(queue.oldest_seconds)),
      queue.dead === null ? '–' : `${queue.dead}`,
      el('span', { class: state(queue) === 'Fine' ? '' : 'warning' }, state(queue)),
    ])
    const runs = jobs.map(({ job, schedule, last_start, last_status, last_message, failures }): (string | Node)[] => [
      job,
      schedule,
      last_start ? moment(last_start) : 'never',
      `${last_status ?? ''} ${last_status === 'failed' ? last_message ?? '' : ''}`,
      `${failures}`,
    ])
    return [
      table('What waits', ['What', 'How many', 'The oldest', 'Given up', 'State'], waiting),
      jobs.length
        ? table('What runs by the clock', ['Job', 'When', 'Latest run', 'Result', 'Failures in a day'], runs)
        : el('p.hint', 'No pg_cron: on one machine timers run the jobs, and failures are in the log.'),
      button('Refresh', () => view.load('Refreshed')),
    ]
  })
}
