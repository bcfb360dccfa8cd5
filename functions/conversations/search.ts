import { Hono } from 'hono'
import type { z } from 'zod'
import { asUser } from '../_shared/auth.ts'
import { limitSearch } from '../_shared/concurrency.ts'
import { createFinder } from '../_shared/find_words.ts'
import { wordsOf } from '../_shared/fold.ts'
import { sendPage } from '../_shared/app.ts'
import { route } from '../_shared/openapi.ts'
import * as shape from '../_shared/schemas/conversations.ts'
import { settings } from '../_shared/settings.ts'
import { snippetOf } from '../_shared/snippet.ts'

export const search = new Hono()

/** `words` is what the query's words were found as. */
type Found = { messages: z.output<typeof shape.message>[]; words: string[] }

const withSnippets = ({ messages, words }: Found): z.output<typeof shape.foundMessage>[] => {
  const find = createFinder(words.map((word, unit) => {
    const parts = wordsOf(word).map((word) => ({ word, typos: 0, prefix: false }))
    return { unit, phrase: parts.length > 1, quoted: true, common: false, words: parts }
  }))
  return messages.map((message) => {
    const { content } = message
    return { ...message, _snippet: snippetOf(content, find(content, 'content')).text }
  })
}

search.get(
  '/search',
  route('searchMessages', "The messages that have all words of a query, in all of the caller's conversations or one", {
    200: [shape.foundMessage.array(), 'Link'],
    404: shape.notFound,
  }),
  asUser({ query: shape.messageSearch }, 'RATE_LIMIT_SEARCH'),
  async (c) => {
    const { query } = c.var
    // One process with PGlite serves nobody else meanwhile; 20 searches of 100,000 messages held up a send for 41 s.
    const request = { ...query, timeout: Math.min(500, settings.SEARCH_TIMEOUT) }
    const { body, metadata } = await limitSearch(() => c.var.db`search_messages(${request})`)
    return sendPage(c, { body: JSON.stringify(withSnippets(JSON.parse(body))), metadata }, query)
  },
)
