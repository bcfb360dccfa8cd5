import type { Reference } from './types.ts'

export const profiles = {
  listInterests: {
    tag: 'Profiles',
    description: 'Every interest that a profile can name, by name. The answer can be cached for an hour.',
    example: {},
  },
  getPublicProfile: {
    tag: 'Profiles',
    description: 'What everybody may see of a searchable profile. Send the ETag as If-None-Match to get 304 while it ' +
      'is unchanged.',
    example: { path: { id: 47 }, query: { more: true } },
  },
  getMe: {
    tag: 'Profiles',
    description: 'The account, the profile and the interests of the caller.',
    example: { as: 'tomas' },
  },
  updateProfile: {
    tag: 'Profiles',
    description: 'Absent fields stay unchanged, null clears a field. Answers like `GET /users/me`.',
    example: { as: 'tomas', json: { bio: 'From Prague, nearly always on a train', city: 'Leipzig' } },
  },
  setInterests: {
    tag: 'Profiles',
    description: 'The given interests replace those that the profile has; an empty list removes all.',
    example: { as: 'tomas', json: { interest_ids: [18, 29, 56] } },
  },
  setSearchable: {
    tag: 'Profiles',
    description: 'A hidden profile is in no search and has no public view. Conversations go on.',
    example: { as: 'tomas', json: { is_searchable: true } },
  },
} as const satisfies Record<string, Reference>

export const search = {
  searchProfiles: {
    tag: 'Search',
    description: 'Finds the searchable profiles of active users by words and by meaning, best first. Nobody is found ' +
      'across a block. With a token the interests, bio and location of the caller, who is no hit, order the hits; ' +
      'with `like` that profile takes their place.',
    example: { as: 'tomas', query: { q: 'jazz', limit: 2, facets: 'country', highlight: true } },
  },
  completeSearch: {
    tag: 'Search',
    description: 'Interests, cities and displayed names that have the typed text at their beginning or from a later ' +
      "word on, whatever its case and accents, of the profiles that the caller's searches find. Nothing typed " +
      'completes to nothing. With `places` it completes cities of the world instead, by any of their names, the ' +
      'largest first. Counts as a search for the rate limit.',
    example: { as: 'tomas', query: { q: 'ja', limit: 3 } },
  },
} as const satisfies Record<string, Reference>
