import { people, talk, test } from './fixture.ts'

test('whoever is blocked cannot write, and neither can whoever blocks', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  await ana.post(`${ab}/messages`, { content: 'Hello' }, 201, { content: 'Hello', user_id: ana.id })
  await ben.put(`/users/me/blocks/${ana.id}`, undefined, 204)
  for (const who of [ana, ben]) await who.post(`${ab}/messages`, { content: 'Hello' }, 403, '')
})
