/** Keys, passwords and ids that the bench's servers and its data (fixture.sql) share. */
export const jwtSecret = 'bench-secret-of-at-least-32-characters'
export const publishableKey = 'sb_publishable_bench'
export const secretKey = 'sb_secret_bench'
/** The password of every user. */
export const password = 'correct horse battery staple'

/** Ids of auth users (0), their sessions (1) and their refresh tokens (2), as in fixture.sql. */
export const uuidOf = (kind: string, user: number): string => `${kind}0000000-0000-4000-8000-000000${100_000 + user}`
export const refreshTokenOf = (user: number): string => uuidOf('2', user)
