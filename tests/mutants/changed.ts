const git = (...args: string[]): string =>
  new TextDecoder().decode(new Deno.Command('git', { args }).outputSync().stdout)

const functionsIn = (text: string): Map<string, string> => {
  const found = text.matchAll(/create (?:or replace )?function ([\w.]+)[\s\S]*?\n\$\$;/g)
  return new Map([...found].map(([definition, name]) => [name!, definition]))
}

/** The functions of sql/schema whose text is another than at this commit. */
export const changedSince = (commit: string): Set<string> => {
  const files = git('diff', '--name-only', '--diff-filter=d', commit, '--', 'sql/schema').split('\n').filter(Boolean)
  return new Set(files.flatMap((file) => {
    const before = functionsIn(git('show', `${commit}:${file}`))
    return [...functionsIn(Deno.readTextFileSync(file))].filter(([name, text]) => before.get(name) !== text)
      .map(([name]) => name)
  }))
}
