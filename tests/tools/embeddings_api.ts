import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { loadEmbedder, model } from '../../functions/_shared/embeddings/wordnet/embedder.ts'
import { listen } from './ports.ts'

/** The offline embedder behind OpenAI's API, and the settings with which bundles find it. */
export const openEmbeddingsApi = async () => {
  const { embed } = loadEmbedder(readFileSync('functions/_shared/embeddings/wordnet/wordnet.bin'))
  const server = createServer(async (request, response) => {
    const { input } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { input: string[] }
    const data = input.map((text, index) => ({ index, embedding: Array.from(embed(text)) }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  return {
    settings: { OPENAI_API_KEY: 'offline', OPENAI_BASE_URL: url, EMBEDDING_MODEL: model },
    close: () => void server.close(),
  }
}
