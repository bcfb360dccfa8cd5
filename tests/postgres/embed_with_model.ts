// Serves the function embed with a stand-in for the model of Supabase's Edge Runtime, which uses as much processor
// time. Prints `began <text>` before each text. A text that contains `dies` kills the process. `LOAD` is how long the
// first session waits for the model, `EACH` how long a text takes, in milliseconds.
const [load, each] = ['LOAD', 'EACH'].map((name) => Number(Deno.env.get(name) ?? 0))

class Session {
  #loaded = new Promise((resolve) => setTimeout(resolve, load))
  async run(text: string): Promise<number[]> {
    await this.#loaded
    // What drain sends to wait for the model.
    if (text !== 'a') {
      console.log(`began ${text}`)
      if (text.includes('dies')) Deno.kill(Deno.pid, 'SIGKILL')
      const end = performance.now() + each!
      while (performance.now() < end) Math.sqrt(Math.random())
    }
    return Array.from({ length: 384 }, (_, index) => Math.sin(text.length + index))
  }
}
if (Deno.env.get('EACH')) Object.assign(globalThis, { Supabase: { ai: { Session } } })

const { default: embed } = await import('../../functions/embed/index.ts')
export default embed
