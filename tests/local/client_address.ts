// Run by client_address.test.ts with [headers, settings][]. Prints the client address of each.
import { clientAddress } from '../../functions/_shared/client_address.ts'

console.warn = () => {}
const cases = JSON.parse(Deno.args[0]!) as [Record<string, string>, Record<string, string>][]
const found = cases.map(([headers, settings]) => {
  for (const name of ['CLIENT_ADDRESS_HEADER', 'TRUSTED_PROXIES']) Deno.env.delete(name)
  for (const [name, value] of Object.entries(settings)) Deno.env.set(name, value)
  return clientAddress(new Headers(headers))
})
console.log(JSON.stringify(found))
