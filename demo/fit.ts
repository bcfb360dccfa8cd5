/**
 * From which ranking score on somebody fits very well, and fits; below that it is a little. A meaning alone reaches .7,
 * and from .5 on half of such hits are wanted.
 */
const steps = [[0.7, 'fits very well'], [0.5, 'fits']] as const

/**
 * Without words the score is the nearness to one's own profile, which is a meaning alone: of the 145 people of the demo
 * data half have more than .34.
 */
const stepsOfNearness = [[0.4, 'fits very well'], [0.32, 'fits']] as const

/** A word for a ranking score between 0 and 1. */
export const fitOf = (score: number, hasWords: boolean): string =>
  (hasWords ? steps : stepsOfNearness).find(([from]) => score > from)?.[1] ?? 'fits a little'
