/** What the API reference says of refusals that several endpoints share. */
export const notFound = 'No such conversation, or the caller is not a participant'
export const forbidden = 'The account is deactivated, or one of the two has blocked the other'
