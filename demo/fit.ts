/** From which ranking score on somebody fits very well, and fits. Below that it is a little. */
const steps = [[0.55, 'fits very well'], [0.4, 'fits']] as const

/**
 * Without words the score is the nearness to one's own profile, of which everybody has a good deal: of the 145 people
 * of the demo data half have more than 0.6.
 */
const aboveNearness = 0.15

/** A word for a ranking score between 0 and 1. */
export const fitOf = (score: number, hasWords: boolean): string => {
  const shown = hasWords ? score : score - aboveNearness
  return steps.find(([from]) => shown >= from)?.[1] ?? 'fits a little'
}
