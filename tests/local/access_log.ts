/** Prints which of four answers of a function are logged. */
import { createApp } from '../../functions/_shared/app.ts'

const app = createApp('tested')
app.get('/ok', (c) => c.json({}))
app.get('/refused', (c) => c.json({}, 404))
app.get('/failed', (c) => c.json({}, 500))
app.get('/slow', async (c) => {
  await new Promise((resolve) => setTimeout(resolve, 1050))
  return c.json({})
})

const names: string[] = []
console.info = (line: string) => {
  const { message, route } = JSON.parse(line)
  if (message === 'Request completed') names.push(route.split('/').at(-1))
}
for (const name of ['ok', 'refused', 'failed', 'slow']) await app.request(`http://localhost/tested/${name}`)
console.log(JSON.stringify(names))
