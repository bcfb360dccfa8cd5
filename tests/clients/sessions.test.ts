import { expect } from 'vitest'
import { advance, forget, network, offline, openAs, playAll, repeat, type Scene, send, useFakeTime } from './fixture.ts'
import { withoutPolling } from './fixture.ts'

useFakeTime()

const isClosed = ({ inbox }: Scene) => expect(() => inbox.open(7)).toThrow('closed')
const signIn = (user: number, inAnotherTab = false) => ({ client }: Scene) => client.signIn(user, inAnotherTab)
const signOut = ({ client }: Scene) => client.signOut()
const expire = ({ server }: Scene) => server.tokenExpired = true
const nothing = { stored: [], requests: [] }
const openWith = ({ inbox, seen }: Scene) => void inbox.openWith(2).then(({ id }) => seen.add(id), () => {})

// deno-fmt-ignore
playAll([
  ['when another user signs in the inbox closes, nothing is sent in their name, and they can open their own', {},
    offline, send('From Ana'), 1000, signIn(2), isClosed, network(), 60_000,
    { ...nothing, topics: [], answers: ['0 Closed before it was answered'], inbox: { me: { id: 1, name: 'Ana' } } },
    (scene) => Object.assign(scene, openAs(scene.simulator, 2, {}, scene.client)),
    1000, { inbox: { me: { id: 2, name: 'Bob' }, status: 'live' } }],
  // Tabs share the stored session and receive each other's auth events a moment later.
  ['when another user signs in in another tab, nothing is sent even before the auth event arrives', {},
    signIn(2, true), send('From Ana'), ({ chat }) => chat.typing(), 60_000, isClosed,
    { ...nothing, topics: [], answers: ['0 Closed before it was answered'] }],
  ['when another user signs in during a token refresh, nothing is sent', withoutPolling,
    expire, network({ latency: 100 }), send('From Ana'),
    async ({ client }) => { while (!client.log.includes('refreshSession')) await advance(1) },
    signIn(2, true), 60_000, { stored: [], answers: ['0 Closed before it was answered'] },
    ({ requestsWith }) => expect(requestsWith('2 ')).toEqual([])],
  // supabase-js repeats SIGNED_IN each time the page becomes visible.
  ['the inbox stays open if the same user signs in again', {},
    signIn(1), send('Still me'), 1000,
    { status: 'live', inbox: { status: 'live' }, messages: [{ user_id: 1, content: 'Still me' }] }],
  ['signing out closes the inbox, and without a session the error says so and no request is sent', {},
    signOut, 1000, isClosed, { topics: [] }, forget,
    (scene) => Object.assign(scene, openAs(scene.simulator, 1, {}, scene.client)), send('Hello?'), 1000,
    { requests: [], answers: ['401 Nobody is signed in'], inbox: { status: 'offline', error: { status: 401 } } }],

  ['an expired token is refreshed once for all concurrent requests, which then succeed', {},
    expire, send('Still me'), repeat(5, openWith), 1000, { stored: ['Still me'], seen: [7], refreshes: 1 }],
  ['an expired token is not refreshed again for requests that were rejected after the refresh', withoutPolling,
    expire, network({ latency: 3000 }), send('One'), repeat(8, openWith, 500), 30_000,
    { stored: ['One'], refreshes: 1 }],
  ['an expired token that cannot be refreshed fails the request, which is not retried', {},
    expire, ({ client }) => client.control.refreshFails = true, send('Who am I?'), 20_000,
    { answers: ['401 Invalid Refresh Token'], posts: 1 }],
  ['an expired token that Storage rejects is refreshed, and the file sent', withoutPolling,
    expire, ({ chat }) => void chat.send({ content: 'Look', file: new File(['abc'], 'a.png', { type: 'image/png' }) }),
    1000, { stored: ['Look'], refreshes: 1 }],
  ['an expired token is refreshed only once if the new one is rejected as well', withoutPolling,
    expire, ({ client }) => client.control.refreshHelps = false, send('Who am I?'), 5000,
    { answers: ['401 The token has expired'], refreshes: 1 }],
])
