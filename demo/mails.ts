import { el } from './dom.ts'

/** Where the mails of one machine are: they go to nobody else. */
export const mailsHere = (): HTMLElement =>
  el('span', ' Mails of this machine are at ', el('a', { href: '/mail', target: '_blank' }, '/mail'), '.')

/** What the button of a mail leads to. */
export interface MailLink {
  type: 'recovery' | 'email_change'
  token_hash: string
}

/** The link by which the page was opened, which is then gone from its address; null for any other. */
export const takeMailLink = (): MailLink | null => {
  const { type, token_hash } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  if (!token_hash || (type !== 'recovery' && type !== 'email_change')) return null
  history.replaceState(history.state, '', location.pathname + location.search)
  return { type, token_hash }
}
