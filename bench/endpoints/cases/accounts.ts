import { type Case, type CaseRequest, json, randomUpTo, repeat } from './case.ts'
import type { Fixture } from '../fixture.ts'
import { password, refreshTokenOf } from '../keys.ts'

const emailOf = (user: number): string => `person${user}@example.com`

/** Auth does most of the work here, so most cases are compared with Auth alone. The case that deletes users is last. */
export const accountCases = ({ users }: Fixture): Case[] => {
  const ofRandomUsers = (path: string, bodyOf: (user: number) => unknown): CaseRequest[] =>
    repeat(5000, () => {
      const user = randomUpTo(users)
      return { user, path, ...json(bodyOf(user)) }
    })
  const ofEachUser = (path: string): CaseRequest[] => repeat(users, (index) => ({ user: 1 + index, path }))
  const newUser = () => ({ name: 'Newcomer', email: 'NEW_UUID@example.com', password })
  const viaAuth = { method: 'POST', usesAuth: true } as const
  return [
    {
      ...viaAuth,
      name: 'POST /auth/signup',
      requests: ofRandomUsers('/auth/signup', newUser),
      litePath: () => '/auth/v1/signup',
    },
    {
      ...viaAuth,
      name: 'POST /users',
      requests: ofRandomUsers('/users', newUser),
      litePath: () => '/auth/v1/signup',
    },
    {
      ...viaAuth,
      name: 'POST /auth/login',
      requests: ofRandomUsers('/auth/login', (user) => ({ email: emailOf(user), password })),
      litePath: () => '/auth/v1/token?grant_type=password',
    },
    {
      ...viaAuth,
      name: 'POST /auth/refresh',
      requests: ofRandomUsers('/auth/refresh', (user) => ({ refresh_token: refreshTokenOf(user) })),
      setup: 'call bench.reset_sessions()',
      litePath: () => '/auth/v1/token?grant_type=refresh_token',
    },
    {
      ...viaAuth,
      name: 'POST /auth/logout',
      requests: ofEachUser('/auth/logout'),
      setup: 'call bench.reset_sessions()',
      once: true,
      litePath: () => '/auth/v1/logout?scope=local',
    },
    {
      ...viaAuth,
      name: 'POST /auth/recover',
      requests: ofRandomUsers('/auth/recover', (user) => ({ email: emailOf(user) })),
      litePath: () => '/auth/v1/recover',
    },
    {
      name: 'DELETE /users/me',
      method: 'DELETE',
      requests: ofEachUser('/users/me'),
      once: true,
      rpc: 'erase_me()',
      variables: '\\set user 1 + :index',
    },
  ]
}
