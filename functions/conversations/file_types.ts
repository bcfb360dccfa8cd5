// Signatures rather than a package: `file-type` knows two hundred types, needs Node 22 and four packages more, and says nothing about text.
const startsWith = (...signature: number[]) => (bytes: Uint8Array): boolean =>
  signature.every((byte, place) => bytes[place] === byte)

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)))

/** The brand of an ISO media file, as MP4 is one; HEIF, AVIF and QuickTime are others. */
const brandOf = (bytes: Uint8Array): string => ascii(bytes, 4, 8) === 'ftyp' ? ascii(bytes, 8, 12) : ''

// A recorder may call sound alone `isom`, so any brand of MP4 can be sound; a brand for sound cannot be a film.
const isSoundBrand = (brand: string): boolean => /^(M4[ABP] |F4[AB] )$/.test(brand)
const isMp4Brand = (brand: string): boolean =>
  /^(iso[m2-9a-c]|mp4[12]|mp71|avc1|dash|cmf[2c]|mmp4|MSNV|M4V[ HP]|[fF]4[vV] )$/.test(brand)

/** The head of an MPEG frame of layer II or III, with a version, a bit rate and a sampling rate that exist. */
const isMpegFrame = ([sync = 0, head = 0, rates = 0xff]: Uint8Array): boolean =>
  sync === 0xff && (head & 0xe0) === 0xe0 && (head & 0x18) !== 0x08 && [0x02, 0x04].includes(head & 0x06) &&
  (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c

const binary: Record<string, (bytes: Uint8Array) => boolean> = {
  'image/jpeg': startsWith(0xff, 0xd8, 0xff),
  'image/png': startsWith(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  'image/gif': (bytes) => /^GIF8[79]a/.test(ascii(bytes, 0, 6)),
  'image/webp': (bytes) => ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 14) === 'WEBPVP',
  'application/pdf': (bytes) => ascii(bytes, 0, 5) === '%PDF-',
  'audio/mpeg': (bytes) => ascii(bytes, 0, 3) === 'ID3' || isMpegFrame(bytes),
  'audio/mp4': (bytes) => isSoundBrand(brandOf(bytes)) || isMp4Brand(brandOf(bytes)),
  'video/mp4': (bytes) => isMp4Brand(brandOf(bytes)),
}

/** As the MIME Sniffing Standard tells text: a byte order mark, or no control characters but those of text; and nothing of the above. */
const isText = (bytes: Uint8Array): boolean => {
  if (Object.values(binary).some((isOne) => isOne(bytes))) return false
  const encoding = startsWith(0xff, 0xfe)(bytes) ? 'utf-16le' : startsWith(0xfe, 0xff)(bytes) ? 'utf-16be' : 'latin1'
  // deno-lint-ignore no-control-regex
  return !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(new TextDecoder(encoding).decode(bytes))
}

/** How much of a file has to be seen to tell: what browsers look at, rounded up. */
export const headSize = 2048

/** Whether a file begins as one of this type does. What follows may be anything: a file can be two things at once. */
export const isOfType = (head: Uint8Array, type: string): boolean =>
  type === 'text/plain' ? isText(head) : Object.hasOwn(binary, type) && binary[type]!(head)
