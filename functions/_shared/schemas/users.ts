import { z } from 'zod'
import { conversation, message } from './conversations.ts'
import { device, notificationSettings } from './notifications.ts'
import { exportedReport, warning } from './reports.ts'
import { reservationWithHistory } from './reservations.ts'
import { exportedState } from './inbox.ts'
import { canBeStored, flag, id, interestIds, isPhoto, limit, line, offset, text, timestamp } from '../validate.ts'

export const interest = z.strictObject({ id: z.int(), name: z.string() }).meta({ id: 'Interest' })

const profile = {
  id: z.int(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  age: z.int().nullable(),
  biography: z.string().nullable(),
  country: z.string().nullable(),
  city: z.string().nullable(),
  image_url: z.string().nullable(),
}

const languages = z.string().nullable()

export const role = z.enum(['user', 'admin']).meta({ id: 'Role' })

const account = {
  id: z.int(),
  name: z.string(),
  email: z.string(),
  bio: z.string().nullable(),
  location: z.string().nullable(),
  role,
  is_active: z.boolean(),
}

export const user = z.strictObject({
  ...account,
  Profile: z.strictObject({
    ...profile,
    user_id: z.int(),
    is_searchable: z.boolean(),
    show_answers: z.boolean().optional().describe('With more=true: whether the public view has answers'),
    languages: languages.optional().describe('With more=true'),
    Interests: z.array(interest),
  }).meta({ id: 'Profile' }),
  warnings: warning.array().optional().describe('With more=true: of moderators, the latest first'),
}).meta({ id: 'User' })

const answers = z.enum(['within an hour', 'within a day', 'within a week']).meta({ id: 'Answers' }).nullable()

export const publicProfile = z.strictObject({
  id: z.int(),
  name: z.string(),
  profile: z.strictObject({ ...profile, interests: z.array(interest) }),
  answers: answers.optional().describe(
    'With more=true: how soon this person answers in half of the conversations in which others wrote ' +
      'first, in the last 90 days. Null if these are fewer than five, if it takes longer, or if the person does not ' +
      'want it to be shown. Computed once a day',
  ),
  languages: languages.optional().describe('With more=true: which ones this person speaks, in their own words'),
  time_zone: z.string().nullable().optional().describe(
    'With more=true: the time zone of city and country by its IANA name; null if it is unknown',
  ),
}).meta({ id: 'PublicProfile' })

export const block = z.strictObject({ user_id: z.int(), name: z.string(), createdAt: timestamp }).meta({ id: 'Block' })

export const exported = z.strictObject({
  exported_at: timestamp,
  user: z.strictObject({ ...account, createdAt: timestamp }),
  profile: z.strictObject({
    ...profile,
    user_id: z.int(),
    is_searchable: z.boolean(),
    show_answers: z.boolean(),
    languages,
  }),
  interests: z.array(interest),
  blocks: z.array(block),
  devices: z.array(device),
  notifications: notificationSettings,
  answers,
  warnings: warning.array(),
  conversations: z.array(
    z.strictObject({
      ...conversation.omit({ Messages: true, partner: true }).shape,
      Reservations: z.array(reservationWithHistory),
      state: exportedState,
      messages: z.array(message),
    }),
  ),
  reports: z.array(exportedReport),
}).meta({ id: 'Export' })

export const profileInterests = z.strictObject({ id: z.int(), user_id: z.int(), Interests: z.array(interest) })
export const searchable = z.strictObject({ is_searchable: z.boolean() })

const imageUrl = text(1, 2048).refine(
  isPhoto,
  'must be an https URL without quotes, angle brackets, backslashes or spaces',
).meta({ jsonSchema: { type: 'string', format: 'uri', pattern: '^https?://', maxLength: 2048 } })

/** The fields that the owner may change. Absent means unchanged, null clears, and other keys are ignored. */
export const profileChanges = z.object({
  name: line(1, 100).optional().describe('The displayed name'),
  bio: text(0, 500).nullish().describe('One line about oneself'),
  location: line(0, 120).nullish().describe('Where one is, in words'),
  first_name: line(0, 100).nullish().describe('The first name'),
  last_name: line(0, 100).nullish().describe('The last name'),
  age: z.int().min(18, 'must be 18 to 120').max(120, 'must be 18 to 120').nullish().describe('In years'),
  biography: text(0, 5000).nullish().describe('A text about oneself, which searches read'),
  country: line(0, 120).nullish().describe('A name, which searches filter by'),
  city: line(0, 120).nullish().describe('A name, which searches filter by'),
  image_url: imageUrl.nullish().describe(
    'A picture, as an https URL; on one machine also one of its own Storage, at http://127.0.0.1',
  ),
  is_searchable: z.boolean().optional().describe('Whether others can find and see the profile'),
  show_answers: z.boolean().optional().describe('Whether the public view may say how soon one answers'),
  languages: line(0, 200).nullish().describe('Those that one speaks, which searches read'),
  interest_ids: interestIds.optional().describe('The whole set of interests'),
})

const facet = z.enum(['interests', 'city', 'country']).meta({ id: 'Facet' })

const match = z.strictObject({
  index: z.int().min(0).optional().describe('Which of the values, from 0, where the field has several (interests)'),
  start: z.int().min(0).describe('The first character, from 0, in Unicode code points'),
  length: z.int().min(1).describe('The number of characters, in Unicode code points'),
})

const searchHit = z.strictObject({
  id: z.int(),
  user_id: z.int(),
  name: z.string(),
  biography: z.string().nullable(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  interests: z.array(z.string()),
  image_url: z.string().nullable(),
  _rankingScore: z.number().min(0).max(1),
  /** The parts of the score, with explain=true only. */
  _rankingScoreDetails: z.looseObject({}).optional(),
  _matches: z.record(z.string(), z.array(match)).optional().meta({
    description:
      'With highlight=true: where the hit has words of the query, by field as printed, `_snippet` included. ' +
      'A match is one or more whole words. Fields without a match are left out',
    examples: [{ interests: [{ index: 1, start: 0, length: 7 }], biography: [{ start: 12, length: 6 }] }],
  }),
  _snippet: z.string().nullable().optional().describe(
    'With highlight=true: plain text, the 160 characters of the biography that have the most words of the ' +
      'query, or its first ones. Cut between words; an ellipsis (…), which counts, marks what is left out. Null ' +
      'without a biography',
  ),
}).meta({ id: 'SearchHit' })

export const searchResult = z.strictObject({
  hits: z.array(searchHit),
  query: z.string(),
  estimatedTotalHits: z.int(),
  limit: z.int(),
  offset: z.int(),
  /** What a mistyped query may have meant, with suggest=true only. */
  _suggestion: z.strictObject({
    query: z.string(),
    words: z.array(z.strictObject({ from: z.string(), to: z.string() })),
  }).nullable().optional(),
  /** How the query was understood, with explain=true only. */
  _understood: z.strictObject({
    text: z.string().describe('The text whose meaning was looked for'),
    words: z.array(z.string()).describe('The words that were looked for'),
    excluded: z.array(z.string()).describe('What was denied in words'),
    left_out: z.array(z.string()).describe('Words without a meaning of their own'),
    places: z.array(z.string()).describe('Names of places, and their adjectives'),
    age: z.strictObject({ min: z.int(), max: z.int() }).nullable().describe('The age, both ends included'),
  }).optional(),
  facetDistribution: z.partialRecord(facet, z.record(z.string(), z.int().min(1))).optional().meta({
    description: 'With facets: how many people have each value, the most frequent first, among all that match after ' +
      'filters. Where more than 1,000 match, among 1,100 of them at most',
    examples: [{ interests: { Hiking: 12, Jazz: 3 }, city: { Lisbon: 9 } }],
  }),
}).meta({ id: 'SearchResult' })

const texts = z.array(z.string())
export const completions = z.strictObject({ interests: texts, cities: texts, names: texts }).meta({ id: 'Completions' })

/** Names separated by commas; a repeated parameter is a union. */
const names = z.union([z.string(), z.array(z.string())])
  .transform((values) => [values].flat().flatMap((list) => list.split(',')).map((name) => name.trim()).filter(Boolean))
  .refine((list) => list.length <= 50, 'must name at most 50 values')
  .refine((list) => list.every(canBeStored), 'must not hold NUL or lone surrogates')
  .meta({ jsonSchema: { type: 'string' } })

const anyFacet = facet.options.join('|')
const facets = z.string()
  .regex(new RegExp(`^(${anyFacet})(,(${anyFacet}))*$`), `must be some of ${facet.options.join(', ')}, with commas`)
  .describe('Facets to count, separated by commas')
  .transform((list) => [...new Set(list.split(','))])

export const searchQuery = z.object({
  q: text(0, 512).optional().describe('Words, or a sentence; without it everybody who matches the filters'),
  filterInterests: names.optional().describe('Names of interests, separated by commas: any of them'),
  filterCity: names.optional().describe('Names of cities, separated by commas: any of them'),
  filterCountry: names.optional().describe('Names of countries, separated by commas: any of them'),
  limit: limit(100).default(20),
  offset: offset.default(0).describe('How many to skip'),
  explain: flag('Adds the parts of each score as _rankingScoreDetails'),
  suggest: flag('Adds _suggestion: the query with mistyped words corrected, or null'),
  facets: facets.optional(),
  highlight: flag('Adds _matches and _snippet to each hit'),
  like: id.optional()
    .describe('A profile id: ranks by nearness to that profile, which is not a hit itself; with q, by both'),
})

export const completionQuery = z.object({
  q: text(0, 512).optional().describe('What has been typed so far'),
  limit: limit(20).default(5).describe('How many of each kind; more than 20 are taken as 20'),
  places: flag('Completes cities of the world, as "Lisbon, Portugal", and nothing else'),
})

export const interestSet = z.object({ interest_ids: interestIds.describe('Ids of `GET /users/interests`, 50 at most') })
export const visibility = z.object({
  is_searchable: z.boolean().describe('Whether others can find and see the profile'),
})
export const etagHeader = z.object({
  'if-none-match': z.string().optional().describe('The ETag of an earlier answer: 304 if it is still the same'),
})
export const meQuery = z.object({ more: flag('Adds show_answers and languages to the profile, and warnings') })
export const profileQuery = z.object({
  more: flag('Adds answers (how soon this person answers), languages and time_zone'),
})
export const profileParam = z.object({ id: id.describe("The profile's id") })
export const blockParam = z.object({ user_id: id.describe("The other user's id") })
