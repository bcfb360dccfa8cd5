/** What all of the bench's servers and its data (world.sql) agree on. */
export const jwtSecret = 'bench-secret-of-at-least-32-characters'
export const publishableKey = 'sb_publishable_bench'
export const secretKey = 'sb_secret_bench'
/** Everybody's. */
export const password = 'correct horse battery staple'

/** Ids of log-ins (0), of their sessions (1) and of the tokens that renew these (2), as world.sql has them. */
export const uuidOf = (kind: string, user: number): string => `${kind}0000000-0000-4000-8000-000000${100_000 + user}`
export const refreshTokenOf = (user: number): string => uuidOf('2', user)
