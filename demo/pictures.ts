import { el } from './dom.ts'
import { withThumbnail } from './thumbnail.ts'

/** A picture as the browser reads it, turned upright as the camera has noted; null if it cannot be read as one. */
export const readPicture = (file: File): Promise<ImageBitmap | null> => createImageBitmap(file).catch(() => null)

/** What to draw with onto a canvas that becomes a JPEG, which has no transparency. */
export const onWhite = (canvas: HTMLCanvasElement): CanvasRenderingContext2D => {
  const context = canvas.getContext('2d')!
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.imageSmoothingQuality = 'high'
  return context
}

/** What a canvas shows as a JPEG, which every browser can write. It has no place and no time. */
export const toJpeg = (canvas: HTMLCanvasElement, name: string, quality = 0.88): Promise<File> =>
  new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => blob ? resolve(new File([blob], name, { type: blob.type })) : reject(new Error('Too little memory')),
      'image/jpeg',
      quality,
    )
  )

/** In pixels. A phone's photo of 12 megapixels and 5 MB becomes one of 0.6 MB, as much as a screen shows. */
const longestSide = 2048
/** Of what stands in a conversation, on a fine screen. */
const thumbnailSide = 560
const small = 2 ** 18
const photos = ['image/jpeg', 'image/png', 'image/webp']
/** What phones of one maker record, and other browsers do not show. */
const foreign = ['image/heic', 'image/heif']

const scaledTo = (side: number, picture: ImageBitmap, name: string, quality?: number): Promise<File> => {
  const scale = Math.min(1, side / Math.max(picture.width, picture.height))
  const [width, height] = [Math.round(picture.width * scale), Math.round(picture.height * scale)]
  const canvas = el('canvas', { width: `${width}`, height: `${height}` })
  onWhite(canvas).drawImage(picture, 0, 0, width, height)
  return toJpeg(canvas, name, quality)
}

/**
 * A large photo as a smaller JPEG with a small picture in front; any other file, and a picture that this browser cannot
 * read, as it is.
 */
export const scaledDown = async (file: File): Promise<File> => {
  const isForeign = foreign.includes(file.type)
  if (!isForeign && (!photos.includes(file.type) || file.size <= small)) return file
  const picture = await readPicture(file)
  if (!picture) return file
  const name = `${file.name.replace(/\.\w+$/, '')}.jpg`
  const sizes = [scaledTo(longestSide, picture, name), scaledTo(thumbnailSide, picture, name, 0.7)] as const
  const scaled = await Promise.all(sizes).then(([whole, thumbnail]) => withThumbnail(whole, thumbnail), () => null)
  picture.close()
  return scaled && (isForeign || scaled.size < file.size) ? scaled : file
}
