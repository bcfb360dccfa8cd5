import type { Context } from 'hono'
import { sendJson } from './app.ts'
import type { RpcResult } from './rpc.ts'

type Parameters = Record<string, string | number | boolean | undefined>

/**
 * The Link header of the next page: the address of this request with these parameters. It is relative, because a
 * function does not know by which address it was asked.
 */
export const nextPageLink = (parameters: Parameters): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return `<?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}>; rel="next"`
}

/** Sends a page of a list that pages by `before_id`, with a link to the next page if there is one. */
export const sendPage = (c: Context, page: RpcResult, query: Parameters): Response => {
  if (page.metadata.next) c.header('Link', nextPageLink({ ...query, before_id: page.metadata.next }))
  return sendJson(c, page)
}
