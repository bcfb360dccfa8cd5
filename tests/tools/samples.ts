const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const hex = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value.replaceAll(' ', ''), 'hex'))
const base64 = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value, 'base64'))
export const joined = (...parts: Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(parts))

/** An ISO media file: `ftyp` with these brands, then `mdat`. */
export const media = (...brands: string[]): Uint8Array => {
  const size = 16 + 4 * (brands.length - 1)
  return joined(
    hex(size.toString(16).padStart(8, '0')),
    text(`ftyp${brands[0]}`),
    hex('00000200'),
    text(brands.slice(1).join('')),
    hex('00000010 6d646174 0000000000000000'),
  )
}

/** Files of each allowed type, complete or only the beginning, as common programs write them. */
export const samples: Record<string, Record<string, Uint8Array>> = {
  'image/jpeg': {
    JFIF: hex('ffd8ffe0 00104a46 49460001 01000001 00010000 ffdb0043 00080606 07060508'),
    Exif: hex('ffd8ffe1 00184578 69660000 49492a00 08000000 00000000 00000000'),
  },
  'image/png': {
    'one pixel': base64(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    ),
  },
  'image/gif': {
    'one pixel': base64('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'),
    'GIF87a': text('GIF87a\x01\x00\x01\x00'),
  },
  'image/webp': {
    lossy: base64('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AA/uuuAAA='),
    lossless: base64('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=='),
  },
  'application/pdf': { document: text('%PDF-1.7\n%âãÏÓ\n1 0 obj\n<</Type /Catalog>>\nendobj\n') },
  'text/plain': {
    words: text('See you at the ferry, 8 am.\r\n\tBring a coat.\n'),
    'words with accents': text('Até amanhã, às oito — 明日の朝'),
    'words in Latin-1': hex('436166e9 20e0206c 61206d61 69736f6e'),
    'words in UTF-16': hex('fffe 4800 6900 2100'),
    'the source of a page': text('<!doctype html><title>Hi</title>'),
    'an empty file': new Uint8Array(),
  },
  'audio/mpeg': {
    'with a tag': hex('49443304 00000000 00235453 53450000'),
    'layer III': joined(hex('fffb9064'), new Uint8Array(413)),
    'layer III of MPEG-2': joined(hex('fff384c4'), new Uint8Array(140)),
  },
  'audio/mp4': { iTunes: media('M4A ', 'M4A ', 'mp42', 'isom'), recorder: media('iso5', 'iso5', 'mp41') },
  'video/mp4': { camera: media('mp42', 'isom', 'mp42'), encoder: media('isom', 'isom', 'iso2', 'avc1', 'mp41') },
}

/** Files of types that are not allowed. */
export const strangers: Record<string, Uint8Array> = {
  'an ELF executable': hex('7f454c46 02010100 00000000 00000000'),
  'a Windows executable': hex('4d5a9000 03000000 04000000 ffff0000'),
  'a ZIP': hex('504b0304 14000000 08000000'),
  'a gzip': hex('1f8b0800 00000000 0003'),
  'an ICO': hex('00000100 01001010'),
  'a WAV': joined(text('RIFF'), hex('24080000'), text('WAVEfmt '), hex('10000000')),
  'an HEIC': media('heic', 'mif1', 'heic'),
  'an AVIF': media('avif', 'avif', 'mif1', 'miaf'),
  'a QuickTime film': media('qt  ', 'qt  '),
  'an ADTS stream': hex('fff15080 2e7ffc21 00000000'),
  'a PNG without its first byte': samples['image/png']!['one pixel']!.subarray(1),
  'zeros': new Uint8Array(64),
}
