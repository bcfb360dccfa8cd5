import { el } from '../demo/dom.ts'
import { moment } from './view.ts'

/** A row of the database's read_evidence. */
export interface Evidence {
  sent_at: string
  is_by_reported: boolean
  content: string
  attachment: { name?: string; url?: string } | null
}

/** The messages that belong to a report, as they were when it was made. */
export const showEvidence = ({ person, reporter }: { person: string; reporter: string }, evidence: Evidence[]) => {
  const messages = evidence.map(({ sent_at, is_by_reported, content, attachment }) => {
    const from = el('strong', is_by_reported ? person : reporter)
    const file = attachment && el('p.hint', `Attachment: ${attachment.name ?? ''} ${attachment.url ?? ''}`)
    const reported = is_by_reported ? { class: 'reported' } : {}
    return el('li', reported, from, ' ', moment(sent_at), el('p.quote', content), file)
  })
  if (messages.length === 0) return el('p.hint', 'No message belongs to this report, or it was purged.')
  return el('ol.evidence', ...messages)
}
