import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

const install = () => execFileSync('sh', ['scripts/install_platform_deno.sh'], { encoding: 'utf8' }).trim()

/** The Deno that the local stack runs on, and the version that Supabase's Edge Runtime reports. */
export const denoVersions = (): { version: string; deno: string }[] => [
  { version: 'the pinned Deno', deno: resolve('node_modules/.bin/deno') },
  { version: "the platform's Deno", deno: install() },
]
