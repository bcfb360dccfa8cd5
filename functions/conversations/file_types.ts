// The package `file-type` knows two hundred types, but needs Node 22 and four more packages, and does not detect text.
const startsWith = (...signature: number[]) => (bytes: Uint8Array): boolean =>
  signature.every((byte, index) => bytes[index] === byte)

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)))

/** The major brand of an ISO media file: MP4, HEIF, AVIF, QuickTime and others. */
const brandOf = (bytes: Uint8Array): string => ascii(bytes, 4, 8) === 'ftyp' ? ascii(bytes, 8, 12) : ''

// Some recorders write audio as `isom`, so every MP4 brand can be audio. Audio brands are never video.
const isAudioBrand = (brand: string): boolean => /^(M4[ABP] |F4[AB] )$/.test(brand)
const isMp4Brand = (brand: string): boolean =>
  /^(iso[m2-9a-c]|mp4[12]|mp71|avc1|dash|cmf[2c]|mmp4|MSNV|M4V[ HP]|[fF]4[vV] )$/.test(brand)

/** An MPEG frame header of layer II or III with a valid version, bit rate and sampling rate. */
const isMpegFrame = ([sync = 0, version = 0, rates = 0xff]: Uint8Array): boolean =>
  sync === 0xff && (version & 0xe0) === 0xe0 && (version & 0x18) !== 0x08 && [0x02, 0x04].includes(version & 0x06) &&
  (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c

const binary: Record<string, (bytes: Uint8Array) => boolean> = {
  'image/jpeg': startsWith(0xff, 0xd8, 0xff),
  'image/png': startsWith(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  'image/gif': (bytes) => /^GIF8[79]a/.test(ascii(bytes, 0, 6)),
  'image/webp': (bytes) => ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 14) === 'WEBPVP',
  'application/pdf': (bytes) => ascii(bytes, 0, 5) === '%PDF-',
  'audio/mpeg': (bytes) => ascii(bytes, 0, 3) === 'ID3' || isMpegFrame(bytes),
  'audio/mp4': (bytes) => isAudioBrand(brandOf(bytes)) || isMp4Brand(brandOf(bytes)),
  'video/mp4': (bytes) => isMp4Brand(brandOf(bytes)),
}

/** Text by the MIME Sniffing Standard: a byte order mark or no binary control characters, and no signature above. */
const isText = (bytes: Uint8Array): boolean => {
  if (Object.values(binary).some((matches) => matches(bytes))) return false
  const encoding = startsWith(0xff, 0xfe)(bytes) ? 'utf-16le' : startsWith(0xfe, 0xff)(bytes) ? 'utf-16be' : 'latin1'
  // deno-lint-ignore no-control-regex
  return !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(new TextDecoder(encoding).decode(bytes))
}

/** How many bytes isOfType needs: as many as browsers read, rounded up. */
export const headSize = 2048

/** Whether a file begins like this type. The remainder is not checked: a file can be valid as two types. */
export const isOfType = (head: Uint8Array, type: string): boolean =>
  type === 'text/plain' ? isText(head) : Object.hasOwn(binary, type) && binary[type]!(head)
