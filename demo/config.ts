/** What the stack tells the page: the key that everybody may know, and people of the demo world who can log in. */
export interface Config {
  publishableKey: string
  logIns: { email: string; password: string; who: string }[]
}

export const readConfig = async (): Promise<Config> => {
  const response = await fetch('/demo/config.json')
  if (!response.ok) throw new Error(`The stack answered ${response.status}`)
  return await response.json()
}
