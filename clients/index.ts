// What the npm package voyagers-and-locals-client exports. Its React hooks are in ./react.ts.
export * from './inbox.ts'
export { addressOf, uploadAvatar, type UploadOptions } from './uploads.ts'
export { type ApiClient, createApiClient, dataOf } from './api_client.ts'
export type { components, paths } from './openapi.ts'
/** For `createClient<Database>()`: the tables of the Data API. */
export type { Database } from '../functions/_shared/database.types.ts'
