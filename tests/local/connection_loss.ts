// Run by survive_cuts.test.ts: what postgres.js does outside of anybody's promise when a connection is cut, and then something else.
import { surviveConnectionLoss } from '../../functions/_shared/connection_loss.ts'

surviveConnectionLoss()
surviveConnectionLoss()
console.warn = () => console.log('told')
const connection = 'file:///srv/npm/postgres/3.4.9/src/connection.js:253:22'
void Promise.reject(Object.assign(new Error('planted'), { code: 'CONNECTION_CLOSED' }))
setTimeout(() => {
  throw Object.assign(new TypeError('planted'), { stack: `TypeError: planted\n    at nextWrite (${connection})` })
})
setTimeout(() => {
  console.log('alive')
  // What Postgres says of a statement comes the same way.
  void Promise.reject(
    Object.assign(new Error('anything else'), {
      code: '42P01',
      stack: `PostgresError: anything else\n    at parse (${connection})`,
    }),
  )
}, 100)
setTimeout(() => console.log('still alive'), 1000)
