import { el } from './dom.ts'
import { formField, openForm } from './form.ts'

/** What a user was writing to people without a conversation, for this tab until they log out. */
export const firstMessages = (me: number) => {
  const name = `first messages of ${me}`
  const read = (): Record<number, string> => JSON.parse(sessionStorage.getItem(name) ?? '{}')
  return {
    of: (user: number): string => read()[user] ?? '',
    set: (user: number, text: string) => sessionStorage.setItem(name, JSON.stringify({ ...read(), [user]: text })),
    clear: () => sessionStorage.removeItem(name),
  }
}

/** The first message to somebody: the conversation opens when it is sent, so that nobody gets an empty one. */
export const openFirstMessage = (
  person: { id: number; name: string },
  drafts: ReturnType<typeof firstMessages>,
  send: (text: string) => Promise<void>,
) => {
  const keep = () => drafts.set(person.id, control.value)
  const control = el('textarea', { rows: '4', maxlength: '5000', input: keep }, drafts.of(person.id))
  const field = formField(`Your first message to ${person.name}`, control)
  const node = openForm({ content: field }, [field.node], async () => {
    if (!control.value.trim()) throw new Error('Write something first')
    await send(control.value)
    drafts.set(person.id, '')
  }, 'Send')
  return { node, focus: () => control.focus() }
}
