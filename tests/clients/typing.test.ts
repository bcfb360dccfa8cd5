import { expect } from 'vitest'
import { advance, block, bobTypes, leave, network, openAs, playAll, type Scene } from './fixture.ts'
import { hear, intercept, repeat, send, type, useFakeTime, watch } from './fixture.ts'

useFakeTime()

const both = { bob: true } as const
const isJoined = ['user:1', 'typing:7']
const isLeft = ['user:1']
const bobIsJoined = (value: boolean) => ({ bob }: Scene) =>
  expect(bob!.client.channels.some(({ topic }) => topic === 'realtime:typing:7')).toBe(value)
const sendsTyping = (times: number) => ({ client }: Scene) =>
  expect(client.log.filter((line) => line === 'send typing:7 typing')).toHaveLength(times)
const bobReadsList = ({ tell }: Scene) => tell([2], 'conversation.created', { id: 8, previous_id: null, user_id: null })
/** Realtime's event that the account of a participant has become inactive. */
const closeTyping = ({ bob }: Scene) => bob!.client.channels[1]!.send({ event: 'closed', payload: { user_id: 2 } })
const openTablet = (scene: Scene) => Object.assign(scene, openAs(scene.simulator, 1))

// deno-fmt-ignore
playAll([
  ['typing is shown to the other participant only, and ends after five seconds', both,
    type, 10, { typing: false, bob: { typing: true } }, 5000, { bob: { typing: false } }],
  ['while the user keeps typing, one event is sent every three seconds and the indicator stays', both,
    repeat(90, type, 100, { bob: { typing: true } }), sendsTyping(3)],
  ['typing ends when the message arrives', both,
    type, 10, send('Done'), 100, { bob: { typing: false, messages: [{ content: 'Done' }] } }],
  ['typing on another device of the same user is not shown', both,
    async (scene) => {
      const { chat } = scene
      openTablet(scene)
      await advance(1000)
      type(scene)
      scene.chat = chat
    }, 10, { typing: false, bob: { typing: true } }],
  ['what is typed while the topic is being joined is shown after the join', both,
    openTablet, 1, type, sendsTyping(0), 1000, { bob: { typing: true } }],
  ['what is typed while the connection is lost, which nobody has told yet, is not sent', both,
    ({ client }) => client.connections[1]!.isOpen = false, type, sendsTyping(0)],

  ['blocking a user who is typing hides it and leaves the typing topic', both,
    bobTypes, 100, { typing: true, blocked: false }, block(1), 100, { typing: false, blocked: true, topics: isLeft },
    // The blocked user is not told, and on the platform stays joined until their token is refreshed.
    { bob: { blocked: false } }, bobIsJoined(true),
    repeat(30, bobTypes, 1000, { typing: false }),
    // Nor does the blocked user see Ana typing.
    type, 100, { bob: { typing: false } }, sendsTyping(0)],
  ['a typing event that is in flight during the block is not shown', both,
    network({ eventDelay: 2000 }), block(1), bobTypes, 2500, { typing: false }],
  ['after unblocking, both see each other typing again', both,
    block(1), 100, block(1, false), 1000, bobTypes, type, 100, { typing: true, bob: { typing: true } }],
  ['a user who was blocked before the conversation was opened is never shown as typing', both,
    leave, block(1), openTablet, watch(({ chat }) => chat.view.typing),
    repeat(100, bobTypes, 50), { loaded: true, blocked: true, seen: [false] },
    ({ client }) => expect(client.log).not.toContain('subscribe typing:7')],
  ['if the event of a block is lost, the next resync applies the block', both,
    network({ eventLoss: 1 }), block(1), network(), 61_000, bobTypes, 100, { typing: false, topics: isLeft }],
  ['blocks of anybody else leave the typing topic open', both,
    intercept((_, __, path) => path === 'users/me/blocks' ? Response.json([{ user_id: 99 }]) : null),
    ({ tell }) => tell([1], 'block.changed', { id: null, previous_id: null, user_id: 99 }), 1000, { intercepted: 1 },
    bobTypes, 100, { typing: true, blocked: false }],
  ['a user who was blocked leaves the typing topic with the next list, where the address is empty', both,
    send('Hello'), 1000, block(1), 1000, bobIsJoined(true), bobReadsList, 1000, bobIsJoined(false),
    block(1, false), bobReadsList, 1000, bobIsJoined(true)],
  ['when the account of the other becomes inactive, the typing topic is left until they write again', both,
    bobTypes, 100, { typing: true }, closeTyping, 100, { typing: false, topics: isLeft }, 60_000, { topics: isLeft },
    hear('I am back'), 1000, { topics: isJoined }],
])
