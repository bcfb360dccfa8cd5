import {
  type Case,
  fromRandomUsers,
  json,
  newPartnerOf,
  randomUpTo,
  randomUser,
  repeat,
  sqlNewPartnerOf,
} from './case.ts'
import { pathOf } from '../search_data.ts'
import type { Fixture } from '../fixture.ts'

export const peopleCases = (fixture: Fixture): Case[] => {
  const { users, queries } = fixture
  const blockRequests = repeat(users, (index) => ({
    user: 1 + index,
    path: `/users/me/blocks/${newPartnerOf(fixture, 1 + index)}`,
  }))
  const eachUser = `\\set user 1 + :index % ${users}`
  return [
    {
      name: 'GET /users/me',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/users/me'),
      rpc: 'get_me()',
      variables: randomUser(fixture),
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
      name: 'GET /users/interests',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/users/interests'),
      auth: 'none',
      rpc: 'list_interests()',
      variables: randomUser(fixture),
      litePath: () => '/rest/v1/interests?select=id,name&order=name',
    },
    {
      name: 'GET /users/search',
      method: 'GET',
      requests: queries.map((query) => ({ user: randomUpTo(users), path: pathOf(query) })),
      auth: 'optional',
      rpc: 'search_profiles((select request from bench.requests where id = :request))',
      variables: `${randomUser(fixture)}\n\\set request random(1, 1000)`,
    },
    {
      // pgbench calls export_me for the first part only; the Edge Function goes on to the last.
      name: 'GET /users/me/export',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/users/me/export'),
      rpc: 'export_me(null)',
      variables: randomUser(fixture),
    },
    {
      name: 'GET /users/me/blocks',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/users/me/blocks'),
      rpc: 'list_blocks()',
      variables: randomUser(fixture),
    },
    {
      name: 'PUT /users/me/blocks/:user_id',
      method: 'PUT',
      requests: blockRequests,
      once: true,
      setup: `delete from private.blocks where blocked_id = ${sqlNewPartnerOf(fixture, 'blocker_id')}`,
      rpc: `block_person(${sqlNewPartnerOf(fixture, ':user')})`,
      variables: eachUser,
    },
    {
      name: 'DELETE …/blocks/:user_id',
      method: 'DELETE',
      requests: blockRequests,
      once: true,
      setup: `insert into private.blocks (blocker_id, blocked_id)
        select id, ${sqlNewPartnerOf(fixture, 'id')} from generate_series(1, ${users}) as id on conflict do nothing`,
      rpc: `unblock_person(${sqlNewPartnerOf(fixture, ':user')})`,
      variables: eachUser,
    },
    {
      name: 'PATCH /users/profile',
      method: 'PATCH',
      requests: fromRandomUsers(fixture, '/users/profile').map((request) => ({
        ...request,
        ...json({ bio: `I know ${randomUpTo(1000)} places to stop.` }),
      })),
      rpc: `update_profile(jsonb_build_object('bio', 'I know ' || :places || ' places to stop.'))`,
      variables: `${randomUser(fixture)}\n\\set places random(1, 1000)`,
      litePath: ({ user }) => `/rest/v1/users?id=eq.${user}`,
    },
    {
      name: 'PUT /users/profile/interests',
      method: 'PUT',
      requests: fromRandomUsers(fixture, '/users/profile/interests').map((request) => {
        const first = randomUpTo(50)
        return { ...request, ...json({ interest_ids: [first, first + 1, first + 2] }) }
      }),
      rpc: `set_interests(jsonb_build_object('ids', jsonb_build_array(:first::integer, :first + 1, :first + 2)))`,
      variables: `${randomUser(fixture)}\n\\set first random(1, 50)`,
    },
    {
      // After the search, because it hides profiles.
      name: 'PATCH /users/searchable',
      method: 'PATCH',
      requests: fromRandomUsers(fixture, '/users/searchable').map((request) => ({
        ...request,
        ...json({ is_searchable: randomUpTo(2) === 1 }),
      })),
      rpc: 'set_searchable(:searchable = 1)',
      variables: `${randomUser(fixture)}\n\\set searchable random(0, 1)`,
      litePath: ({ user }) => `/rest/v1/profiles?user_id=eq.${user}`,
    },
  ]
}
