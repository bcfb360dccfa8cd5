const mostDeep = 3
const mostEmbeds = 10

/**
 * Whether a `select` of the Data API embeds more than Postgres should be asked for at once. Each level of `messages(conversations(messages(…)))`
 * multiplies what the one above it finds, and PGlite, which is this process, cannot be told to stop. So there are three levels, and no
 * table within itself; there, embeds name tables, because a column or a foreign key would be the same table under another name.
 */
export const embedsTooMuch = (table: string, select: string): boolean => {
  const path = [table]
  let embeds = 0
  let word = ''
  for (const letter of select.replaceAll(/["\s]/g, '')) {
    if (letter === '(') {
      const target = word.split(':').at(-1)!.replace(/^\.\.\./, '').split('!')[0]!
      // sum() and its like: what is called and embeds nothing.
      const isFunction = /\.\w+$/.test(target) || target === 'count'
      if (!isFunction) {
        embeds++
        if (path.includes(target) || (path.length > 1 && /_(id|fkey)$/.test(target))) return true
      }
      path.push(isFunction ? '' : target)
      if (path.length - 1 > mostDeep || embeds > mostEmbeds) return true
    }
    if (letter === ')') path.pop()
    word = /[(),]/.test(letter) ? '' : word + letter
  }
  return false
}

const mostNested = 10

/** Whether the conditions of an `or` or `and` are nested deeper than anybody means them to be. */
export const nestsTooDeep = (condition: string): boolean => {
  let depth = 0
  for (const letter of condition) {
    if (letter === '(' && ++depth > mostNested) return true
    if (letter === ')') depth--
  }
  return false
}
