/** The search of one's own messages: what is found, in which order, and that nothing of others is. */
import { asAdmin, equal, idOf, is, iso, type Json, type Person, setting, sql, test } from './fixture.ts'
import { block, hostOf, idsOf, meet, pagesOf, refusesQueries, send, unknown } from './talks.ts'

const path = '/conversations/search'
const search = (who: Person, q: string, others = ''): Promise<Json> =>
  who.get(`${path}?q=${encodeURIComponent(q)}${others}`)
const found = async (who: Person, q: string, others?: string) =>
  (await search(who, q, others)).map(({ content }: Json) => content)

test('both find what either wrote, the newest first, as lists print it; nobody else does', async () => {
  const { ana, ben, cat, dan, ab, ca } = await meet()
  const first = await send(ana, ab, 'The piano is in tune')
  await send(ben, ab, 'Who plays?')
  const second = await send(ben, ab, 'A chair near the piano')
  const third = await send(cat, ca, 'My piano is not')
  const withSnippet = (message: Json) => ({ ...message, _snippet: message.content })
  equal(await search(ana, 'piano'), [third, second, first].map(withSnippet))
  equal(third, {
    ...{ id: third.id, user_id: cat.id, conversation_id: idOf(ca), content: 'My piano is not', attachment: null },
    ...{ read: false, createdAt: iso, Sender: { id: cat.id, name: 'cat' } },
  })
  equal(idsOf(await search(ben, 'piano')), [second.id, first.id])
  equal(idsOf(await search(cat, 'piano')), [third.id])
  equal(await search(dan, 'piano'), [])
  equal(idsOf(await search(ana, 'piano', `&conversation_id=${idOf(ab)}`)), [second.id, first.id])
  for (const id of [idOf(ab), ...unknown]) {
    await cat.get(`${path}?q=piano&conversation_id=${id}`, 404, { error: 'Conversation not found' })
    // Whether or not there is anything to look for.
    await cat.get(`${path}?q=%3F&conversation_id=${id}`, 404)
  }
  await block(ben, ana)
  equal(idsOf(await search(ana, 'piano')), [third.id, second.id, first.id])
  equal(idsOf(await search(ben, 'piano')), [second.id, first.id])
  await ben.delete('/users/me')
  is(await search(ana, 'chair'), [{ Sender: { name: 'Deleted user' } }])
})

test('all words must be there, in any order; accents, case and one typing error do not matter', async () => {
  const { ana, ab } = await meet()
  const texts = [
    'Encontramo-nos às nove na Estação',
    'Lisbon at nine?',
    'Иван знает дорогу',
    '明日は東京タワーへ',
    'Houses',
  ]
  for (const text of texts) await send(ana, ab, text)
  const [station, lisbon, ivan, tower, houses] = texts
  // deno-fmt-ignore
  const queries: [string, Json[]][] = [
    ['estacao', [station]], ['ESTAÇÃO nove', [station]], ['nove estaç', [station]], ['estação ten', []],
    // Only the last word may be unfinished, until a space or a quote.
    ['lis', [lisbon]], ['lis ', []], ['"lis"', []], ['lis nine', []], ['nine lis', [lisbon]], ['isbon', []],
    // A letter wrong, missing, too many, or two changed about; not the first, nor two, nor in a short word.
    ['lisbom', [lisbon]], ['lsbon ', [lisbon]], ['lissbon ', [lisbon]], ['libson ', [lisbon]], ['lisbno at', [lisbon]],
    ['kisbon', []], ['lsbom ', []], ['nime ', []], ['lizb', []], ['lizbo', [lisbon]],
    ['house ', [houses]], ['housed', [houses]],
    ['ivan', [ivan]], ['иван дорогу', [ivan]], ['東京', [tower]], ['京東', []], ['東京 明日', [tower]],
    ['lisbon, (nine)!', [lisbon]], ['.*', []], ['🎉', []], ['%', []], ['_', []], ['\\', []], [' ', []],
    // The first ten words count.
    [`${'lisbon '.repeat(10)} nowhere`, [lisbon]], [`${'lisbon '.repeat(9)} nowhere`, []],
  ]
  for (const [q, expected] of queries) equal([q, await found(ana, q)], [q, expected])
  await refusesQueries(ana, path, 'q', 'q=')
})

test('corrections are found by what they say now, and what is empty by nothing', async () => {
  const { ana, ben, ab } = await meet()
  const attachment = { url: 'https://files.example/piano.jpg', name: 'piano.jpg', mime_type: 'image/jpeg', size: 5 }
  const sent = await send(ana, ab, { content: 'piano', attachment })
  await asAdmin('update public.messages set content = $1 where id = $2', ['violin', sent.id])
  equal([await found(ben, 'piano'), await found(ben, 'violin')], [[], ['violin']])
  await asAdmin('update public.messages set content = $1 where id = $2', ['', sent.id])
  equal([await found(ben, 'piano'), await found(ben, 'violin')], [[], []])
})

test('a snippet shows the words of a long message as plain text', async () => {
  const { ana, ab } = await meet()
  const [before, after] = ['<b>Words</b> before. '.repeat(60), ' And words behind it.'.repeat(60)]
  await send(ana, ab, `${before}We meet at the Estação do Rossio at nine.${after}`)
  for (const q of ['estacao rossio', 'rosio estaçao', 'ross']) {
    const [{ _snippet }] = await search(ana, q)
    is([_snippet, [..._snippet].length <= 160], [/^….*Estação do Rossio.*…$/s, true])
  }
})

test('pages repeat no message and leave out none, also where a search ends before it has read all', async () => {
  const { host, ids, paths: [first] } = await hostOf(3)
  const last = await send(host, first!, 'The last needle')
  await sql(
    `insert into public.messages (conversation_id, user_id, content)
     select ($2::text::bigint[])[1 + n % 3], $1, case when n % 20 = 0 then 'needle' else 'Žluťoučký kůň' end
     from generate_series(1, 600) as n`,
    [host.id, `{${ids}}`],
  )
  const all = idsOf(await search(host, 'needle', '&limit=100'))
  equal([all.length, all.at(-1)], [31, last.id])
  const pages = await pagesOf(host, `${path}?q=needle&limit=12`)
  equal([pages.map((page) => page.length), pages.flatMap(idsOf)], [[12, 12, 7], all])
  // A hundred take longer than that.
  setting('SEARCH_TIMEOUT', '1')
  const parts = await pagesOf(host, `${path}?q=needle&limit=12`)
  equal([parts.length > 3, parts.flatMap(idsOf)], [true, all])
  const none = await pagesOf(host, `${path}?q=nowhere&conversation_id=${ids[0]}`)
  equal([none.length > 1, none.flat()], [true, []])
})
