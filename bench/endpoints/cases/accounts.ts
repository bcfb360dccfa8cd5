import { type Ask, type Case, drawn, saying, upTo } from './case.ts'
import { password, refreshTokenOf } from '../keys.ts'
import type { World } from '../world.ts'

const email = (user: number): string => `person${user}@example.com`

/** Most of what these do is Auth's, so what stands beside a door is that Auth by itself. Last, who leaves. */
export const accountCases = ({ users }: World): Case[] => {
  const anyone = (ask: (user: number) => Omit<Ask, 'user'>): Ask[] =>
    drawn(5000, () => upTo(users)).map((user) => ({ user, ...ask(user) }))
  const inTurn = (path: string): Ask[] => Array.from({ length: users }, (_, turn) => ({ user: 1 + turn, path }))
  const newcomer = { name: 'Newcomer', email: 'NEWKEY@example.com', password }
  const posted = { method: 'POST', withAuth: true } as const
  return [
    {
      ...posted,
      name: 'POST /auth/signup',
      asks: anyone(() => ({ path: '/auth/signup', ...saying(newcomer) })),
      peer: () => '/auth/v1/signup',
    },
    {
      ...posted,
      name: 'POST /users',
      asks: anyone(() => ({ path: '/users', ...saying(newcomer) })),
      peer: () => '/auth/v1/signup',
    },
    {
      ...posted,
      name: 'POST /auth/login',
      asks: anyone((user) => ({ path: '/auth/login', ...saying({ email: email(user), password }) })),
      peer: () => '/auth/v1/token?grant_type=password',
    },
    {
      ...posted,
      name: 'POST /auth/refresh',
      asks: anyone((user) => ({ path: '/auth/refresh', ...saying({ refresh_token: refreshTokenOf(user) }) })),
      before: 'call bench.begin_sessions()',
      peer: () => '/auth/v1/token?grant_type=refresh_token',
    },
    {
      ...posted,
      name: 'POST /auth/logout',
      asks: inTurn('/auth/logout'),
      before: 'call bench.begin_sessions()',
      once: true,
      peer: () => '/auth/v1/logout?scope=local',
    },
    {
      ...posted,
      name: 'POST /auth/recover',
      asks: anyone((user) => ({ path: '/auth/recover', ...saying({ email: email(user) }) })),
      peer: () => '/auth/v1/recover',
    },
    {
      name: 'DELETE /users/me',
      method: 'DELETE',
      asks: inTurn('/users/me'),
      once: true,
      verb: 'erase_me()',
      draw: '\\set user 1 + :turn',
    },
  ]
}
