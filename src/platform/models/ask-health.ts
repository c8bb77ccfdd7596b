import { request } from 'node:http'
import type { AskHealth } from '../../operator/starts/health-answers.ts'

/** What a program says of its load is a line; more than this is something else. */
const longestAnswerBytes = 16 * 1024

/** Asks a Pod what its probe asks it, and reads the answer instead of its status alone. */
export const askHealth: AskHealth = ({ host, port, path }, signal) =>
  new Promise((resolve, reject) => {
    const asking = request({ host, port, path, signal, agent: false, headers: { accept: 'application/json' } })
    asking.once('error', reject)
    asking.once('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > longestAnswerBytes) asking.destroy(new Error('the answer is too long'))
        else chunks.push(chunk)
      })
      response.once('error', reject)
      response.once('end', () => resolve(parsed(Buffer.concat(chunks).toString())))
    })
    asking.end()
  })

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
