/** What has become of a reservation, as mails and pushes say it after its title. */
export const outcomes = {
  pending: 'is waiting for your answer',
  accepted: 'is agreed',
  declined: 'was declined',
  cancelled: 'was cancelled',
  completed: 'has taken place',
}
