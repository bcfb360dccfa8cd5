import { byRandomUsers, type Case, randomUpTo, repeat } from './case.ts'
import { pathOf } from '../search_data.ts'
import type { Fixture } from '../fixture.ts'

/** Those that change users come last. */
export const peopleCases = (fixture: Fixture): Case[] => {
  const { users, queries } = fixture
  return [
    {
      name: 'GET /users/me',
      ...byRandomUsers(fixture, 'GET', '/users/me'),
      rpc: 'get_me()',
      litePath: () =>
        '/rest/v1/users?select=id,name,email,bio,location,role,is_active,created_at,' +
        'profiles(id,first_name,last_name,age,biography,country,city,image_url,is_searchable)',
    },
    {
      name: 'GET /users/:id',
      method: 'GET',
      requests: repeat(5000, () => ({ user: 1, path: `/users/${randomUpTo(users / 5) * 5 - 1}` })),
      auth: 'none',
      rpc: `get_public_profile(5 * :user - 1)`,
      variables: `\\set user random(1, ${Math.floor(users / 5)})`,
    },
    {
      name: 'GET /users/search',
      method: 'GET',
      requests: queries.map((query) => ({ user: randomUpTo(users), path: pathOf(query) })),
      auth: 'optional',
      rpc: 'search_profiles((select request from bench.requests where id = :request))',
      variables: `\\set user random(1, ${users})\n\\set request random(1, 1000)`,
    },
    {
      name: 'PATCH /users/profile',
      ...byRandomUsers(fixture, 'PATCH', '/users/profile', {
        body: () => ({ bio: `I know ${randomUpTo(1000)} places to stop.` }),
        variables: '\\set places random(1, 1000)',
      }),
      rpc: `update_profile(jsonb_build_object('bio', 'I know ' || :places || ' places to stop.'))`,
    },
    {
      name: 'PUT /users/profile/interests',
      ...byRandomUsers(fixture, 'PUT', '/users/profile/interests', {
        body: () => {
          const first = randomUpTo(50)
          return { interest_ids: [first, first + 1, first + 2] }
        },
        variables: '\\set first random(1, 50)',
      }),
      rpc: `set_interests(jsonb_build_object('ids', jsonb_build_array(:first::integer, :first + 1, :first + 2)))`,
    },
  ]
}
