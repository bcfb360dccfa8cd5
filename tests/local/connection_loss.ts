// Run by connection_loss.test.ts: the errors that postgres.js throws outside of any promise when a connection is lost,
// and then another error.
import { surviveConnectionLoss } from '../../supabase/local/connection_loss.ts'

surviveConnectionLoss()
surviveConnectionLoss()
console.warn = () => console.log('warned')
const connection = 'file:///srv/node_modules/postgres/src/connection.js:253:22'
void Promise.reject(Object.assign(new Error('seeded'), { code: 'CONNECTION_CLOSED' }))
setTimeout(() => {
  throw Object.assign(new TypeError('seeded'), { stack: `TypeError: seeded\n    at nextWrite (${connection})` })
})
setTimeout(() => {
  console.log('alive')
  // The error of a statement comes from the same file.
  const stack = `PostgresError: anything else\n    at parse (${connection})`
  void Promise.reject(Object.assign(new Error('anything else'), { code: '42P01', stack }))
}, 100)
setTimeout(() => console.log('still alive'), 1000)
