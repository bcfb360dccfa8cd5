/** Why the stack cannot start, in one line that says what to do. */
export class CannotStart extends Error {}
