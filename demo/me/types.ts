import type { components } from '../../clients/openapi.ts'

export type Interest = components['schemas']['Interest']
/** The user's own account and profile. */
export type Me = components['schemas']['User']
