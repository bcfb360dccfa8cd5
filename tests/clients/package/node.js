import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import { talk } from './talk.js'

const { origin, key, ...conversation } = JSON.parse(process.argv[2])
const supabase = createClient(origin, key, { realtime: { transport: ws } })
console.log(JSON.stringify(await talk(supabase, conversation)))
