import type { Reference } from './types.ts'

// Decades ahead, because they must be in the future whenever the examples are sent.
const date = '2042-05-14T16:00:00.000Z'
const ends_at = '2042-05-16T10:00:00.000Z'

export const reservations = {
  listMyReservations: {
    tag: 'Reservations',
    description: 'Those of all conversations, each with the partner.',
    example: { as: 'tomas', query: { status: 'accepted', limit: 20 } },
  },
  offerReservation: {
    tag: 'Reservations',
    description: 'Either participant offers, and the other one answers. Without an answer it is cancelled at its date.',
    example: { as: 'tomas', path: { id: 1 }, json: { title: 'Two nights in Graça', price: 80, date, ends_at } },
  },
  getReservation: {
    tag: 'Reservations',
    description: 'The history has every step, with who made it and what it said.',
    example: { as: 'ines', path: { id: 1, rid: 14 } },
  },
  getReservationFile: {
    tag: 'Reservations',
    description: 'In iCalendar, with title and time. A later file of the same reservation replaces it in the calendar.',
    example: { as: 'tomas', path: { id: 1, rid: 2 } },
  },
  counterReservation: {
    tag: 'Reservations',
    description: 'Changes a pending reservation. Now the other participant is the one who can accept or decline it. ' +
      '`revision` is that of the offer that was read; if it has changed, the answer is 409 and nothing changes.',
    example: { as: 'ines', path: { id: 1, rid: 14 }, json: { revision: 1, price: 70 } },
  },
  acceptReservation: {
    tag: 'Reservations',
    description: 'Only the one who did not make the current offer can accept it, and only while it is pending. ' +
      'A host cannot accept two that overlap. `revision` is that of the offer that was read; if it has changed, the ' +
      'answer is 409 and nothing is accepted.',
    example: { as: 'tomas', path: { id: 1, rid: 14 }, json: { revision: 2, note: 'See you at the station' } },
  },
  cancelReservation: {
    tag: 'Reservations',
    description: 'Either participant can cancel what is pending or accepted, whatever has become of the partner. ' +
      'If one has blocked the other, the note is dropped.',
    example: { as: 'tomas', path: { id: 1, rid: 14 }, json: { note: 'My train was cancelled, I am sorry' } },
  },
  declineReservation: {
    tag: 'Reservations',
    description: 'Only the one who did not make the current offer can decline it, and only while it is pending. ' +
      '`revision` as in accept.',
    example: { as: 'ines', path: { id: 1, rid: 1 }, json: { revision: 1, note: 'The piano is being tuned that week' } },
  },
  completeReservation: {
    tag: 'Reservations',
    description: 'The clock completes an accepted reservation at its end. So this changes nothing, and answers 409 ' +
      'before the end.',
    example: { as: 'tomas', path: { id: 5, rid: 7 } },
  },
} as const satisfies Record<string, Reference>
