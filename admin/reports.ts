import { avatar, button, el, setText } from '../demo/dom.ts'
import { pluralize } from '../demo/format.ts'
import { reasons } from '../demo/safety.ts'
import { ownPhoto } from '../demo/storage.ts'
import { dataApi, rpc } from './api.ts'
import { askWhy } from './ask.ts'
import { type Evidence, showEvidence } from './evidence.ts'
import { detail, empty, messageOf, moment, openView, personLink, tag, type View } from './view.ts'

interface Report {
  report: number
  person: string
  person_id: number
  reporter: string
  reporter_id: number
  reason: keyof typeof reasons
  note: string | null
  earlier_reports: number
  earlier_dismissed: number
  earlier_upheld: number
  is_hidden: boolean
  is_active: boolean
  created_at: string
  message_id: number | null
  shares_messages: boolean
}

/** What others see of the reported person. */
interface Profile {
  id: number
  user_id: number
  biography: string | null
  city: string | null
  country: string | null
  image_url: string | null
}

const pageSize = 50
const columns = 'id,user_id,biography,city,country,image_url'

const decisions = {
  dismiss: 'Nothing is wrong: nothing happens',
  warn: 'The person reads it, and it counts in later reports',
  hide: 'Hide: nobody finds the profile until this is lifted',
  suspend: 'Suspend: the person is logged out, and cannot log in until this is lifted',
}

const decide = ({ report, person }: Report, view: View) => {
  const choices = Object.entries(decisions).map(([action, text]) =>
    el('label.check', el('input', { type: 'radio', name: 'action', value: action, required: true }), text)
  )
  const fields = el('fieldset', el('legend', 'Decision'), ...choices)
  const submit = (note: string) => {
    const action = fields.querySelector<HTMLInputElement>('input:checked')?.value
    return rpc('resolve_report', { report, action, note })
  }
  const hint = 'The reporter sees that the report is resolved, and not how. It cannot be opened again.'
  askWhy(`Report ${report}, about ${person}`, hint, 'Resolve', submit, view, [fields])
}

const card = (report: Report, profile: Profile | undefined, view: View): HTMLElement => {
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const evidence = el('div', { role: 'group', tabindex: '-1', 'aria-label': 'Evidence' })
  const read = async () => {
    try {
      evidence.replaceChildren(showEvidence(report, await rpc<Evidence[]>('read_evidence', { report: report.report })))
      setText(alert, '')
      evidence.focus({ preventScroll: true })
    } catch (error) {
      setText(alert, messageOf(error))
    }
  }
  const { earlier_reports: earlier, earlier_upheld: upheld, earlier_dismissed: dismissed } = report
  const before = `${pluralize(earlier, 'report', 'reports')}, ${upheld} upheld, ${dismissed} dismissed`
  const state = [report.is_hidden && tag('hidden'), !report.is_active && tag('suspended')]
  const tags = [tag(reasons[report.reason], 'declined'), ...state]
  const steps = [button('Decide', () => decide(report, view), 'strong'), button('Read the evidence (logged)', read)]
  return el(
    'article.card',
    { 'aria-label': `Report ${report.report}` },
    el(
      'div.portrait',
      avatar(report.person, ownPhoto(profile?.image_url), 'large'),
      el(
        'div',
        el('h3', personLink(report.person_id, report.person), ' ', ...tags),
        el('p.hint', [profile?.city, profile?.country].filter(Boolean).join(', ')),
        el('p.biography', profile?.biography ?? 'Has written nothing about themselves.'),
        profile && el('a.hint', { href: `/demo/people/${profile.id}` }, 'The profile, as others see it'),
      ),
    ),
    report.note && el('p.quote', `${report.reporter}: “${report.note}”`),
    el(
      'dl',
      detail('Reported by', personLink(report.reporter_id, report.reporter)),
      detail('When', moment(report.created_at)),
      detail('About', report.message_id === null ? 'the person' : `message ${report.message_id}`),
      detail('Shared', report.shares_messages ? 'the latest 20 messages' : null),
      detail('Earlier', earlier ? before : 'no reports'),
    ),
    el('div.actions', ...steps),
    alert,
    evidence,
  )
}

/** The open reports, oldest first. */
export const openReports = (): View => {
  return openView([], async (view) => {
    const reports = await dataApi<Report[]>('GET', `moderation_queue?order=report&limit=${pageSize}`)
    const limit = reports.length === pageSize ? el('p.hint', `These are the oldest ${pageSize}.`) : null
    const ids = reports.map(({ person_id }) => person_id)
    const profiles = await dataApi<Profile[]>('GET', `profiles?select=${columns}&user_id=in.(${ids})`)
    const profileOf = ({ person_id }: Report) => profiles.find(({ user_id }) => user_id === person_id)
    const cards = reports.map((report) => card(report, profileOf(report), view))
    return reports.length ? [...cards, limit] : [empty('No report is open.')]
  })
}
