import type { Readable } from 'node:stream'
import { SluiceError } from '../../foundation/errors.ts'
import { StatusLine } from '../output/status-line.ts'
import { untilInterrupted } from '../running/running-flags.ts'
import { showAnswer } from './answer.ts'
import type { ChatClient } from './chat-client.ts'

const largestQuestion = 4 * 1024 * 1024

/** One question and its answer, plain, for pipes and scripts. */
export async function askOnce(client: ChatClient, model: string, question: string): Promise<number> {
  if (question.trim() === '') {
    throw new SluiceError('invalid_flag', { flag: 'PROMPT', reason: 'there is no question: type one, or pipe one in.' })
  }
  const signal = untilInterrupted()
  const screen = { out: (text: string) => process.stdout.write(text), line: new StatusLine(process.stderr) }
  await showAnswer(client, model, [{ role: 'user', content: question }], screen, signal)
  process.stdout.write('\n')
  return signal.aborted ? 130 : 0
}

/** Everything that is piped in. */
export async function pipedText(input: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > largestQuestion) {
      throw new SluiceError('invalid_flag', {
        flag: 'standard input',
        reason: `is larger than ${largestQuestion} bytes.`,
      })
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8').trim()
}
