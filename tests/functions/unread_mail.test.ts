import { expect, test } from 'vitest'
import { unreadMail } from '../../functions/notify/templates/unread.ts'

const links = { app: 'https://app.example/c/{conversation}', unsubscribe: 'https://x.example/u' }
const step = { conversation_id: 7, name: 'Ana', unread: 0, status: 'accepted' as const, title: 'Jazz <b>', text: null }
const evening = { ...step, date: '2026-12-03T20:30:00.000Z' }

test('a mail says which reservation, when it begins and what became of it, and leads to its conversation', () => {
  const { subject, text, html } = unreadMail('Ben', [evening], links, 'Europe/Lisbon')
  expect(subject).toBe('“Jazz <b>” with Ana is agreed')
  expect(text).toMatch(/\* Ana: “Jazz <b>”, Thu,? 3 Dec 2026, 20:30 [A-Z]+, is agreed\n/)
  expect(text).toContain('Read and answer: https://app.example/c/7\n')
  expect(html).toContain('<a href="https://app.example/c/7">Ana</a>')
  expect(html).toContain('Jazz &lt;b&gt;')
})

test('its times are those of the zone, and unread messages come before a reservation', () => {
  const offered = { ...evening, unread: 2, status: 'pending' as const }
  const { subject, text } = unreadMail('Ben', [offered, { ...evening, name: 'Cleo' }], links, 'Asia/Tokyo')
  expect(subject).toBe('2 unread messages from Ana and others')
  expect(text).toMatch(/\* Ana: 2 unread messages, and “Jazz <b>”, Fri,? 4 Dec 2026, 05:30 .*, is waiting for your/)
  const changed = unreadMail('Ben', [evening, { ...evening, name: 'Cleo' }], { ...links, app: null }, 'UTC')
  expect(changed.subject).toBe('Reservations with Ana and others have changed')
  expect(changed.text).not.toContain('Read and answer')
})
