import { field, openDialog } from '../demo/dialog.ts'
import { el } from '../demo/dom.ts'
import type { View } from './view.ts'

/** Asks why, which the log keeps, and then does it. A refused one stays in the dialog, with what was typed. */
export const askWhy = (
  title: string,
  hint: string,
  action: string,
  submit: (note: string) => Promise<unknown>,
  view: View,
  fields: HTMLElement[] = [],
): void => {
  const note = el('textarea', { rows: '3', required: true })
  const why = field('Why', note, 'For the log, which admins alone read. Name nobody here.')
  openDialog(title, [el('p.hint', hint), ...fields, why], action, async () => {
    await submit(note.value)
    void view.load(`Done: ${title}`)
  }, view.signal)
}

/** A field of a row: its column, and the text that it has at first. */
interface Input {
  column: string
  label: string
  control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
  /** What the column gets for a text. */
  parse?: (text: string) => unknown
}

/** Asks for changes of a row and saves those that differ. */
export const askForChanges = (
  title: string,
  inputs: Input[],
  save: (changes: Record<string, unknown>) => Promise<void>,
  view: View,
): void => {
  const before = inputs.map(({ control }) => control.value)
  openDialog(title, inputs.map(({ label, control }) => field(label, control)), 'Save', async () => {
    const changed = inputs.filter(({ control }, index) => control.value !== before[index])
    if (changed.length === 0) throw new Error('Nothing was changed')
    const valueOf = ({ control: { value }, parse }: Input) => parse ? parse(value) : value
    await save(Object.fromEntries(changed.map((input) => [input.column, valueOf(input)])))
    void view.load(`Saved: ${title}`)
  }, view.signal)
}
