/** What the stack gives to the page. */
export interface Config {
  publishableKey: string
  /** The demo accounts. */
  logIns: { email: string; password: string; who: string }[]
}

export const readConfig = async (): Promise<Config> => {
  const response = await fetch('/demo/config.json')
  if (!response.ok) throw new Error(`The stack answered ${response.status}`)
  return await response.json()
}
