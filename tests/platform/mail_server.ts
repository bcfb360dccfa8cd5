import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { listen } from '../tools/ports.ts'
import { eventually } from '../tools/wait.ts'

interface Mail {
  to: string
  text: string
}

/** An SMTP server that keeps what it gets. */
export const openMailServer = async () => {
  const mails: Mail[] = []
  const server = createServer(async (socket) => {
    socket.on('error', () => {})
    const reply = (line: string) => socket.write(`${line}\r\n`)
    let to = ''
    let text: string[] | null = null
    reply('220 mail')
    for await (const line of createInterface(socket)) {
      if (text && line !== '.') {
        text.push(line)
      } else if (text) {
        // Quoted-printable: "=" ends a line that goes on, and =3D is a "=".
        mails.push({ to, text: text.join('\n').replaceAll('=\n', '').replaceAll('=3D', '=') })
        text = null
        reply('250 OK')
      } else if (/^RCPT TO:/i.test(line)) {
        to = /<(.*)>/.exec(line)![1]!.toLowerCase()
        reply('250 OK')
      } else if (/^DATA/i.test(line)) {
        text = []
        reply('354 Go on')
      } else if (/^QUIT/i.test(line)) {
        reply('221 Bye')
        socket.end()
      } else {
        reply('250 OK')
      }
    }
  })
  const port = await listen(server)
  const to = (email: string) => mails.filter((mail) => mail.to === email.toLowerCase())
  /** The links of this kind to an address, oldest first. */
  const links = (email: string, type: 'signup' | 'recovery'): string[] =>
    to(email).flatMap(({ text }) => text.match(/http\S+?\/verify\?[^\s"<)\]]+/)?.[0] ?? [])
      .map((link) => link.replaceAll('&amp;', '&')).filter((link) => link.includes(`type=${type}`))
  return {
    port,
    to,
    links,
    /** The newest of so many links. */
    link: async (email: string, type: 'signup' | 'recovery', count = 1): Promise<string> => {
      await eventually(() => links(email, type).length >= count)
      const link = links(email, type).at(-1)
      if (!link) throw new Error(`No ${type} mail to ${email}: ${JSON.stringify(mails.slice(-3))}`)
      return link
    },
    close: () => server.close(),
  }
}
