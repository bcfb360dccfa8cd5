/** What the reference says about an operation, besides what its route and its schemas say. */
export interface Reference {
  tag: keyof typeof import('./tags.ts').tags
  description: string
  example: Example
}

/** A request that works in the demo world (SEED=demo) once the examples before it have been sent. */
export interface Example {
  /** Who sends it; `leaving` is somebody who has signed up only to leave. Absent: it needs no token. */
  as?: 'tomas' | 'ines' | 'leaving' | 'secret key'
  path?: Record<string, number | string>
  query?: Record<string, string | number | boolean>
  headers?: Record<string, string>
  json?: Record<string, unknown>
  /** The answer, where no test can record it: the request has a secret that is in a mail. It is 404 without. */
  answer?: { status: number; body: unknown }
}
