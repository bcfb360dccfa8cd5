const mostDeep = 3
const mostEmbeds = 10

/** How many rows a table may begin with that comes back within itself. */
export const mostOfReturning = 20

/**
 * How many tables a `select` of the Data API embeds that stand on their own path already; null for more than Postgres should be asked for at
 * once. Each level of `messages(conversations(messages(…)))` multiplies what the one above it finds, and PGlite, which is this process,
 * cannot be told to stop. A column or a foreign key in place of a table may be any table, so below the first level it counts as one that returns.
 */
export const returningEmbeds = (table: string, select: string): number | null => {
  const path = [table]
  let embeds = 0
  let returning = 0
  let word = ''
  for (const letter of select.replaceAll(/["\s]/g, '')) {
    if (letter === '(') {
      const target = word.split(':').at(-1)!.replace(/^\.\.\./, '').split('!')[0]!
      // sum() and its like: what is called and embeds nothing.
      const isFunction = /\.\w+$/.test(target) || target === 'count'
      if (!isFunction) {
        embeds++
        if (path.includes(target) || (path.length > 1 && /_(id|fkey)$/.test(target))) returning++
      }
      path.push(isFunction ? '' : target)
      if (path.length - 1 > mostDeep || embeds > mostEmbeds || returning > 1) return null
    }
    if (letter === ')') path.pop()
    word = /[(),]/.test(letter) ? '' : word + letter
  }
  return returning
}

// One in each of the tables that it may embed, and some room for paths into JSON.
const mostRepeats = 12

/** Whether a `select` names one column so often that its answer is many times what there is to tell: 1000 times `content` took 3 GB. */
export const repeatsColumns = (select: string): boolean => {
  const counts = new Map<string, number>()
  for (const word of select.replaceAll(/["\s]/g, '').split(/[(),]/)) {
    const name = word.replaceAll(/::\w+/g, '').split(':').at(-1)!.split(/->|\./)[0]!
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values()) > mostRepeats
}
