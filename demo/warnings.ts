import { el } from './dom.ts'
import { section } from './form.ts'
import { formatDay } from './format.ts'
import type { Me } from './me/types.ts'
import type { openNotice } from './notices.ts'
import { reasons } from './safety.ts'

/** Why, as it is said to whom it was said of. */
const said = {
  ...reasons,
  danger: 'Somebody may be in danger',
  impersonation: 'Pretending to be somebody else',
  other: 'How you treat others',
}

/** What moderators have warned the user of. Null without any. */
export const warningsSection = ({ warnings = [] }: Me): HTMLElement | null => {
  if (warnings.length === 0) return null
  const entries = warnings.map(({ reason, createdAt }) =>
    el('li.row', said[reason], el('span.hint', formatDay(createdAt)))
  )
  return section('Warnings', el('ul.fields', ...entries))
}

/** Shows the latest warning, until it is put away on this device. */
export const showWarning = (notice: ReturnType<typeof openNotice>, { id, warnings: [latest] = [] }: Me) => {
  const key = `warning-read-${id}`
  if (!latest || localStorage.getItem(key) === latest.createdAt) return
  notice.show(`${formatDay(latest.createdAt)} a moderator warned you: ${said[latest.reason]}.`, {
    Understood: () => {
      localStorage.setItem(key, latest.createdAt)
      notice.show('')
    },
  })
}
