// What one side of a race does.
export interface Side {
  caller: number | null
  text: string
  /** The statement before which it waits; without one it waits before its commit. */
  stop: string
}
const asText = (value: unknown): string => typeof value === 'string' ? value : JSON.stringify(value)
export const literal = (value: unknown): string =>
  typeof value === 'number' ? `${value}` : `'${asText(value).replaceAll("'", "''")}'`

/** A side of a race: by(ana)`api.block_person(${ben})`, or a statement. */
export const by = (caller: number | null, stop = '') => (parts: TemplateStringsArray, ...values: unknown[]): Side => {
  const text = String.raw(parts, ...values.map(literal)).trim()
  return { caller, stop, text: /^(select|insert|update|delete|with) /.test(text) ? text : `select ${text} as answer` }
}
/** An admin, a worker or the clock. */
export const admin = by(null)

export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()
export const walk = { title: 'A walk', price: 1, date: inDays(2), ends_at: inDays(4) }

let number = 0
export const device = () => ({
  endpoint: `https://push.example/${number++}`,
  keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
})

export const say = (caller: number, talk: number, fields = {}, stop = ''): Side =>
  by(caller, stop)`api.send_message(${talk}, ${{ content: 'Hello', ...fields }})`
export const step = (caller: number, talk: number, reservation: number, name: string): Side =>
  by(caller)`api.step_reservation(
    conversation => ${talk}, reservation => ${reservation}, step => ${name}, note => null, revision => 1)`
