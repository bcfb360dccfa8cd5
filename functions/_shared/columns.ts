import type { z } from 'zod'
import type { Database, Tables } from './database.types.ts'

type Shown<Value> = null extends Value ? z.ZodNullable<z.ZodType<NonNullable<Value>>> : z.ZodType<Value>

/** Fields of an answer that are a table's columns: `{…} satisfies Columns<'profiles'>` refuses names, types and nulls that the table has not. */
export type Columns<Table extends keyof Database['public']['Tables']> = {
  [Column in keyof Tables<Table>]?: Shown<Tables<Table>[Column]>
}
