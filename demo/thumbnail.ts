const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g)!, (byte) => Number.parseInt(byte, 16))

/**
 * A JPEG holds a small picture of itself in front, by Exif 2.3 (4.5.5 and 4.8.3): a TIFF of two directories, one with
 * the orientation, one with kind, place and size of the picture, which follows.
 */
const exif = bytesOf(
  '4578696600004d4d002a00000008' + '00010112000300000001000100000000001a' +
    '0003010300030000000100060000' + '020100040000000100000044' + '020200040000000100000000' + '00000000',
)
// A segment has a length of two bytes, and two more before it; the file's first two come before those.
const longest = 0xffff - 2 - exif.length
const start = 6
const sizeAt = exif.length - 8

/** This JPEG with the small one in front, which is left out if it is too large. */
export const withThumbnail = (whole: File, small: Blob): File => {
  if (small.size > longest) return whole
  const head = new Uint8Array(start + exif.length)
  const view = new DataView(head.buffer)
  view.setUint32(0, 0xffd8ffe1)
  view.setUint16(4, 2 + exif.length + small.size)
  head.set(exif, start)
  view.setUint32(start + sizeAt, small.size)
  return new File([head, small, whole.slice(2)], whole.name, { type: whole.type })
}

/** The small picture in the file at this address, of which no more is loaded; null if there is none. */
export const loadThumbnail = async (address: string): Promise<Blob | null> => {
  const answer = await fetch(address, { headers: { Range: `bytes=0-${start + 0xffff}` } })
  if (!answer.ok) return null
  const bytes = await answer.arrayBuffer()
  const head = new Uint8Array(bytes.slice(start, start + exif.length))
  if (!exif.subarray(0, sizeAt).every((byte, i) => head[i] === byte)) return null
  const size = new DataView(bytes).getUint32(start + sizeAt)
  return new Blob([bytes.slice(start + exif.length, start + exif.length + size)], { type: 'image/jpeg' })
}
