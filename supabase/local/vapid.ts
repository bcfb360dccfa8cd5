import { CannotStart } from './cannot_start.ts'

export interface VapidKeys {
  publicKey: string
  privateKey: string
}

const toBase64Url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true })

const makeKeys = async (): Promise<VapidKeys> => {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
  return {
    publicKey: toBase64Url(publicKey),
    privateKey: (await crypto.subtle.exportKey('jwk', pair.privateKey)).d!,
  }
}

/** The keys of Web Push: as configured, else as stored, else new. Subscriptions are bound to the public one. */
export const openVapidKeys = async (dataDir: string | null, configured: VapidKeys | null): Promise<VapidKeys> => {
  if (configured) return configured
  if (dataDir === null) return await makeKeys()
  const file = `${dataDir}/vapid.json`
  try {
    const keys: VapidKeys = JSON.parse(Deno.readTextFileSync(file))
    if (keys.publicKey?.length === 87 && keys.privateKey?.length === 43) return keys
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      const keys = await makeKeys()
      // Write atomically, so that a crash leaves no partial file.
      Deno.writeTextFileSync(`${file}.new`, JSON.stringify(keys, null, 2), { mode: 0o600 })
      Deno.renameSync(`${file}.new`, file)
      return keys
    }
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new CannotStart(`${file} does not hold the keys of Web Push; restore it, or remove it for new ones`)
}
