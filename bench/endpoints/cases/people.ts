import { anybody, asPerson, type Case, drawn, saying, sqlStrangerOf, strangerOf, upTo } from './case.ts'
import { pathOf } from '../findable.ts'
import type { World } from '../world.ts'

export const peopleCases = (world: World): Case[] => {
  const { users, queries } = world
  // Everybody blocks somebody, and takes it back.
  const ofStranger = Array.from({ length: users }, (_, turn) => ({
    user: 1 + turn,
    path: `/users/me/blocks/${strangerOf(world, 1 + turn)}`,
  }))
  const everybody = `\\set user 1 + :turn % ${users}`
  return [
    {
      name: 'GET /users/me',
      method: 'GET',
      asks: asPerson(world, '/users/me'),
      verb: 'get_me()',
      draw: anybody(world),
      peer: () =>
        '/rest/v1/users?select=id,name,email,bio,location,role,is_active,created_at,' +
        'profiles(id,first_name,last_name,age,biography,country,city,image_url,is_searchable)',
    },
    {
      name: 'GET /users/:id',
      method: 'GET',
      asks: drawn(5000, () => ({ user: 1, path: `/users/${upTo(users / 5) * 5 - 1}` })),
      caller: 'nobody',
      verb: `get_public_profile(5 * :user - 1)`,
      draw: `\\set user random(1, ${Math.floor(users / 5)})`,
    },
    {
      name: 'GET /users/interests',
      method: 'GET',
      asks: asPerson(world, '/users/interests'),
      caller: 'nobody',
      verb: 'list_interests()',
      draw: anybody(world),
      peer: () => '/rest/v1/interests?select=id,name&order=name',
    },
    {
      name: 'GET /users/search',
      method: 'GET',
      asks: queries.map((query) => ({ user: upTo(users), path: pathOf(query) })),
      caller: 'maybe',
      verb: 'search_profiles((select request from bench.requests where id = :request))',
      draw: `${anybody(world)}\n\\set request random(1, 1000)`,
    },
    {
      // What pgbench asks for is the first piece, 500 messages; the door goes on.
      name: 'GET /users/me/export',
      method: 'GET',
      asks: asPerson(world, '/users/me/export'),
      verb: 'export_me(null)',
      draw: anybody(world),
    },
    {
      name: 'GET /users/me/blocks',
      method: 'GET',
      asks: asPerson(world, '/users/me/blocks'),
      verb: 'list_blocks()',
      draw: anybody(world),
    },
    {
      name: 'PUT /users/me/blocks/:user_id',
      method: 'PUT',
      asks: ofStranger,
      once: true,
      before: `delete from private.blocks where blocked_id = ${sqlStrangerOf(world, 'blocker_id')}`,
      verb: `block_person(${sqlStrangerOf(world, ':user')})`,
      draw: everybody,
    },
    {
      name: 'DELETE …/blocks/:user_id',
      method: 'DELETE',
      asks: ofStranger,
      once: true,
      before: `insert into private.blocks (blocker_id, blocked_id)
        select id, ${sqlStrangerOf(world, 'id')} from generate_series(1, ${users}) as id on conflict do nothing`,
      verb: `unblock_person(${sqlStrangerOf(world, ':user')})`,
      draw: everybody,
    },
    {
      name: 'PATCH /users/profile',
      method: 'PATCH',
      asks: asPerson(world, '/users/profile').map((ask) => ({
        ...ask,
        ...saying({ bio: `I know ${upTo(1000)} places to stop.` }),
      })),
      verb: `update_profile(jsonb_build_object('bio', 'I know ' || :places || ' places to stop.'))`,
      draw: `${anybody(world)}\n\\set places random(1, 1000)`,
      peer: ({ user }) => `/rest/v1/users?id=eq.${user}`,
    },
    {
      name: 'PUT /users/profile/interests',
      method: 'PUT',
      asks: asPerson(world, '/users/profile/interests').map((ask) => {
        const first = upTo(50)
        return { ...ask, ...saying({ interest_ids: [first, first + 1, first + 2] }) }
      }),
      verb: `set_interests(jsonb_build_object('ids', jsonb_build_array(:first::integer, :first + 1, :first + 2)))`,
      draw: `${anybody(world)}\n\\set first random(1, 50)`,
    },
    {
      // After the search, for it hides people.
      name: 'PATCH /users/searchable',
      method: 'PATCH',
      asks: asPerson(world, '/users/searchable').map((ask) => ({
        ...ask,
        ...saying({ is_searchable: upTo(2) === 1 }),
      })),
      verb: 'set_searchable(:wanted = 1)',
      draw: `${anybody(world)}\n\\set wanted random(0, 1)`,
      peer: ({ user }) => `/rest/v1/profiles?user_id=eq.${user}`,
    },
  ]
}
