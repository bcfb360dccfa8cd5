import { type Case, casesFor, json, randomUpTo, repeat } from './case.ts'
import { pathOf } from '../search_data.ts'
import type { Fixture } from '../fixture.ts'

export const peopleCases = (fixture: Fixture): Case[] => {
  const { users, queries } = fixture
  const { byRandomUsers, newPartnerOf, sqlNewPartnerOf } = casesFor(fixture)
  const blockByEachUser = {
    requests: repeat(users, (index) => ({ user: 1 + index, path: `/users/me/blocks/${newPartnerOf(1 + index)}` })),
    once: true,
    variables: `\\set user 1 + :index % ${users}`,
  } as const
  return [
    {
      name: 'GET /users/me',
      ...byRandomUsers('GET', '/users/me'),
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
      name: 'GET /users/interests',
      ...byRandomUsers('GET', '/users/interests'),
      auth: 'none',
      rpc: 'list_interests()',
      litePath: () => '/rest/v1/interests?select=id,name&order=name',
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
      name: 'GET /users/search/complete',
      ...byRandomUsers('GET', '/users/search/complete?q=li'),
      rpc: `complete_search('{"q": "li", "limit": 8}')`,
    },
    {
      name: 'POST /users/me/reports',
      method: 'POST',
      requests: repeat(users, (index) => ({
        user: 1 + index,
        path: '/users/me/reports',
        ...json({ user_id: newPartnerOf(1 + index), reason: 'spam' }),
      })),
      once: true,
      variables: `\\set user 1 + :index % ${users}`,
      setup: 'delete from public.reports',
      rpc: `report_person(jsonb_build_object('user_id', ${sqlNewPartnerOf(':user')}, 'reason', 'spam'))`,
    },
    {
      name: 'GET /users/me/reports',
      ...byRandomUsers('GET', '/users/me/reports'),
      rpc: `list_my_reports('{"limit": 50}')`,
    },
    {
      // pgbench calls export_me for the first part only; the Edge Function goes on to the last.
      name: 'GET /users/me/export',
      ...byRandomUsers('GET', '/users/me/export'),
      rpc: 'export_me(null)',
    },
    {
      name: 'GET /users/me/blocks',
      ...byRandomUsers('GET', '/users/me/blocks'),
      rpc: 'list_blocks()',
    },
    {
      name: 'PUT /users/me/blocks/:user_id',
      method: 'PUT',
      ...blockByEachUser,
      setup: `delete from private.blocks where blocked_id = ${sqlNewPartnerOf('blocker_id')}`,
      rpc: `block_person(${sqlNewPartnerOf(':user')})`,
    },
    {
      name: 'DELETE …/blocks/:user_id',
      method: 'DELETE',
      ...blockByEachUser,
      setup: `insert into private.blocks (blocker_id, blocked_id)
        select id, ${sqlNewPartnerOf('id')} from generate_series(1, ${users}) as id on conflict do nothing`,
      rpc: `unblock_person(${sqlNewPartnerOf(':user')})`,
    },
    {
      name: 'PATCH /users/profile',
      ...byRandomUsers('PATCH', '/users/profile', {
        body: () => ({ bio: `I know ${randomUpTo(1000)} places to stop.` }),
        variables: '\\set places random(1, 1000)',
      }),
      rpc: `update_profile(jsonb_build_object('bio', 'I know ' || :places || ' places to stop.'))`,
      litePath: ({ user }) => `/rest/v1/users?id=eq.${user}`,
    },
    {
      name: 'PUT /users/profile/interests',
      ...byRandomUsers('PUT', '/users/profile/interests', {
        body: () => {
          const first = randomUpTo(50)
          return { interest_ids: [first, first + 1, first + 2] }
        },
        variables: '\\set first random(1, 50)',
      }),
      rpc: `set_interests(jsonb_build_object('ids', jsonb_build_array(:first::integer, :first + 1, :first + 2)))`,
    },
    {
      // After the search, because it hides profiles.
      name: 'PATCH /users/searchable',
      ...byRandomUsers('PATCH', '/users/searchable', {
        body: () => ({ is_searchable: randomUpTo(2) === 1 }),
        variables: '\\set searchable random(0, 1)',
      }),
      rpc: 'set_searchable(:searchable = 1)',
      litePath: ({ user }) => `/rest/v1/profiles?user_id=eq.${user}`,
    },
  ]
}
