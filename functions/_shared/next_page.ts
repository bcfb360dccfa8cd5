import type { Context } from 'hono'
import { settings } from './settings.ts'

/** The Link header of the next page: the address of this request with these parameters. */
export const nextPageLink = (c: Context, parameters: Record<string, string | number | undefined>): string => {
  const url = new URL(`${settings.url}/functions/v1${c.req.path}`)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return `<${url}>; rel="next"`
}
