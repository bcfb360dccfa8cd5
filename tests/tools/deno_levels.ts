import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/** The Deno that we run on, and the level that Supabase's Edge Runtime claims; both must do. */
export const denoLevels = (): { level: string; deno: string }[] => [
  { level: 'ours', deno: resolve('node_modules/.bin/deno') },
  {
    level: "the platform's",
    deno: execFileSync('sh', ['scripts/install_platform_deno.sh'], { encoding: 'utf8' }).trim(),
  },
]
