import { el } from '../dom.ts'
import { field } from '../dialog.ts'
import { onWhite, readPicture, toJpeg } from '../pictures.ts'

const side = 512
const largestZoom = 4
const help = 'Drag the picture, or move it with the arrow keys.'
const arrows: Record<string, [x: number, y: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)

/**
 * Chooses a square of a picture by dragging, with the arrow keys, or by the zoom. The canvas that shows it is what is
 * uploaded. Rejects with a sentence if the browser cannot read the picture.
 */
export const openCrop = async (file: File) => {
  const picture = await readPicture(file)
  if (!picture) throw new Error(`“${file.name}” cannot be read as a picture. Choose another one.`)
  const { width, height } = picture
  const shorter = Math.min(width, height)
  // Nothing is made larger than it is.
  const size = `${Math.min(side, shorter)}`
  let x = width / 2
  let y = height / 2
  let zoom = 1

  const draw = () => {
    const part = shorter / zoom
    x = clamp(x, part / 2, width - part / 2)
    y = clamp(y, part / 2, height - part / 2)
    onWhite(canvas).drawImage(picture, x - part / 2, y - part / 2, part, part, 0, 0, canvas.width, canvas.height)
  }
  /** Moves by parts of what is shown. */
  const move = (right: number, down: number) => {
    x += right * shorter / zoom
    y += down * shorter / zoom
    draw()
  }
  let from = { clientX: 0, clientY: 0 }
  const canvas = el('canvas.crop', {
    width: size,
    height: size,
    tabindex: '0',
    role: 'application',
    'aria-label': `The part that is shown. ${help}`,
    pointerdown: (event: PointerEvent) => {
      canvas.setPointerCapture(event.pointerId)
      from = event
    },
    pointermove: (event: PointerEvent) => {
      if (!event.buttons) return
      move((from.clientX - event.clientX) / canvas.clientWidth, (from.clientY - event.clientY) / canvas.clientHeight)
      from = event
    },
    keydown: (event: KeyboardEvent) => {
      const arrow = arrows[event.key]
      if (!arrow) return
      event.preventDefault()
      move(arrow[0] / 20, arrow[1] / 20)
    },
  })
  const onZoom = () => {
    zoom = Number(slider.value)
    draw()
  }
  const slider = el('input', { type: 'range', min: '1', max: `${largestZoom}`, step: '0.1', value: '1', input: onZoom })
  draw()

  return { parts: [canvas, el('p.hint', help), field('Zoom', slider)], toFile: () => toJpeg(canvas, 'photo.jpg') }
}
