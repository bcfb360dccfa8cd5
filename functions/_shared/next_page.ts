import type { Context } from 'hono'
import { sendJson } from './app.ts'
import type { RpcResult } from './rpc.ts'
import { settings } from './settings.ts'

type Parameters = Record<string, string | number | undefined>

/** The Link header of the next page: the address of this request with these parameters. */
export const nextPageLink = (c: Context, parameters: Parameters): string => {
  const url = new URL(`${settings.url}/functions/v1${c.req.path}`)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return `<${url}>; rel="next"`
}

/** Sends a page of a list that pages by `before_id`, with a link to the next page if there is one. */
export const sendPage = (c: Context, page: RpcResult, query: Parameters): Response => {
  if (page.metadata.next) c.header('Link', nextPageLink(c, { ...query, before_id: page.metadata.next }))
  return sendJson(c, page)
}
