// Run by survive_cuts.test.ts: what postgres.js does outside of anybody's promise when a connection is cut, and then something else.
import { surviveCuts } from '../../functions/_shared/survive_cuts.ts'

surviveCuts()
surviveCuts()
console.warn = () => console.log('told')
const connection = 'file:///srv/npm/postgres/3.4.9/src/connection.js:253:22'
void Promise.reject(Object.assign(new Error('planted'), { code: 'CONNECTION_CLOSED' }))
setTimeout(() => {
  throw Object.assign(new TypeError('planted'), { stack: `TypeError: planted\n    at nextWrite (${connection})` })
})
setTimeout(() => {
  console.log('alive')
  void Promise.reject(new Error('anything else'))
}, 100)
setTimeout(() => console.log('still alive'), 1000)
