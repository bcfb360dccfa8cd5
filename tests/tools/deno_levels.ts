import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

const install = () => execFileSync('sh', ['scripts/install_platform_deno.sh'], { encoding: 'utf8' }).trim()

/** The Deno that the local stack runs on, and the version that Supabase's Edge Runtime reports. */
export const denoLevels = (): { level: string; deno: string }[] => [
  { level: 'the pinned Deno', deno: resolve('node_modules/.bin/deno') },
  { level: "the platform's Deno", deno: install() },
]
