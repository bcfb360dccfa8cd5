import { Buffer } from 'node:buffer'
import { readOrMake } from './data_dir.ts'

export interface VapidKeys {
  publicKey: string
  privateKey: string
}

const makeKeys = async (): Promise<VapidKeys> => {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  const publicKey = Buffer.from(await crypto.subtle.exportKey('raw', pair.publicKey)).toString('base64url')
  return { publicKey, privateKey: (await crypto.subtle.exportKey('jwk', pair.privateKey)).d! }
}

/** The keys of Web Push: as configured, else as stored, else new. Subscriptions are bound to the public one. */
export const openVapidKeys = async (dataDir: string | null, configured: VapidKeys | null): Promise<VapidKeys> => {
  if (configured) return configured
  if (dataDir === null) return await makeKeys()
  const isValid = (keys: VapidKeys) => keys.publicKey?.length === 87 && keys.privateKey?.length === 43
  return await readOrMake(`${dataDir}/vapid.json`, makeKeys, isValid, 'keys of Web Push')
}
