/** What the stack gives to the page. */
export interface Config {
  publishableKey: string
  /** ISO 4217, of every price. */
  currency: string
  /** The demo accounts. */
  logIns: { email: string; password: string }[]
  /** The conversation of the first two of them; null without such accounts. */
  story: number | null
}

export const readConfig = async (): Promise<Config> => {
  const response = await fetch('/demo/config.json')
  if (!response.ok) throw new Error(`The stack answered ${response.status}`)
  return await response.json()
}
