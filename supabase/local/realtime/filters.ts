import { exceedsDepth } from '../nesting.ts'

/** The condition of a filter, as local_realtime.filter_condition takes it. */
export interface Condition {
  column: string
  operator: string
  values: string[]
}

// Those of Supabase's documentation.
const operators = new Set('eq neq lt lte gt gte in'.split(' '))
const maxItems = 100
const maxLength = 16_384

/** Parses `column=operator.value`, the value of `in` as `(one,two)`; null if it is invalid. */
export const readFilter = (text: string): Condition | null => {
  // Postgres parses the value of a json column.
  if (text.length > maxLength || exceedsDepth(text)) return null
  const [, column = '', operator = '', value = ''] = /^([^=]+)=([a-z]+)\.(.*)$/s.exec(text) ?? []
  if (!operators.has(operator) || value.includes('\0')) return null
  const values = operator === 'in' ? /^\((.+)\)$/s.exec(value)?.[1]?.split(',').map((item) => item.trim()) : [value]
  return values && values.length <= maxItems ? { column, operator, values } : null
}
