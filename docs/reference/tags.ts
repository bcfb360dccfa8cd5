/** The chapters of the reference, in their order. */
export const tags = {
  Accounts: 'Signing up, logging in, exporting and erasing an account.',
  Profiles: "One's own profile and interests, and the public view of others.",
  Search: 'Finding people by words, by meaning and by filters.',
  Conversations: 'Opening a conversation, the inbox, and what each participant arranges for themselves.',
  Messages: 'Sending, reading and marking as read.',
  Reservations: 'Offers, counter-offers, answers and the history of both.',
  Notifications: 'How people who are away are told: devices for Web Push, mails, and when.',
  Safety: 'Blocking and reporting people.',
  Administration: 'For operators: health, metrics, and what needs the secret key.',
}
