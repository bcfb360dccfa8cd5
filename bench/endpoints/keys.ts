/** Keys and ids that the bench's servers and its data (fixture.sql) share. */
export const jwtSecret = 'bench-secret-of-at-least-32-characters'
export const publishableKey = 'sb_publishable_bench'
export const secretKey = 'sb_secret_bench'

/** The id of a user in Auth, as in fixture.sql. */
export const uuidOf = (user: number): string => `00000000-0000-4000-8000-000000${100_000 + user}`
