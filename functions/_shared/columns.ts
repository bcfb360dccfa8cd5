import type { z } from 'zod'
import type { Database, Tables } from './database.types.ts'

type ColumnSchema<Value> = null extends Value ? z.ZodNullable<z.ZodType<NonNullable<Value>>> : z.ZodType<Value>

/** `{…} satisfies Columns<'profiles'>` lets the compiler check names, types and nulls of a schema. */
export type Columns<Table extends keyof Database['public']['Tables']> = {
  [Column in keyof Tables<Table>]?: ColumnSchema<Tables<Table>[Column]>
}
