import { createClient } from '@supabase/supabase-js'
import { type Database, openInbox } from 'voyagers-and-locals-client'
import { talk } from './talk.js'

const { origin, key, ...conversation } = JSON.parse(Deno.args[0]!)
const supabase = createClient<Database>(origin, key)
console.log(JSON.stringify(await talk(supabase, conversation)))
// `deno check` refuses this line unless the package's declarations are found.
openInbox satisfies (client: typeof supabase) => { close(): void }
