import { type Interface, createInterface } from 'node:readline'
import { SluiceError } from '../../foundation/errors.ts'
import { StatusLine } from '../output/status-line.ts'
import { showAnswer } from './answer.ts'
import type { ChatClient, ChatMessage } from './chat-client.ts'

const help = `/bye      leave; so does Ctrl-D, or Ctrl-C twice
/clear    begin a new conversation
/help     show this
Ctrl-C stops an answer; the arrow keys bring back what was typed.`

/** What is remembered of a conversation; a model could not read more anyway. */
const mostMessages = 1_000

/** Talks at a terminal until the person leaves. */
export async function talk(client: ChatClient, model: string): Promise<number> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '>>> ', historySize: 500 })
  const conversation = new Conversation(client, model, terminal)
  console.log(`Talking to ${model}. /bye leaves, /help says more.`)
  terminal.on('SIGINT', () => conversation.interrupt())
  terminal.prompt()
  for await (const line of terminal) {
    await conversation.take(line.trim())
    if (conversation.hasEnded) break
    terminal.prompt()
  }
  terminal.close()
  return 0
}

/** A conversation, its answer that is under way, and what Ctrl-C means for it. */
class Conversation {
  readonly #client: ChatClient
  readonly #model: string
  readonly #terminal: Interface
  #messages: ChatMessage[] = []
  #answering: AbortController | undefined
  #wasInterrupted = false
  #hasEnded = false

  constructor(client: ChatClient, model: string, terminal: Interface) {
    this.#client = client
    this.#model = model
    this.#terminal = terminal
  }

  /** The first Ctrl-C stops the answer, or asks whether it was meant; a second one leaves. */
  interrupt(): void {
    if (this.#wasInterrupted) {
      this.#hasEnded = true
      this.#answering?.abort()
      process.stdout.write('\n')
      return this.#terminal.close()
    }
    this.#wasInterrupted = true
    if (this.#answering) return this.#answering.abort()
    // What was begun is dropped, as a shell does it.
    this.#terminal.write(null, { ctrl: true, name: 'u' })
    process.stdout.write('\nCtrl-C again or /bye leaves.\n')
    this.#terminal.prompt()
  }

  /** Whether the person has left. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  async take(line: string): Promise<void> {
    this.#wasInterrupted = false
    if (line === '/bye' || line === '/exit' || line === '/quit') this.#hasEnded = true
    else if (line === '/clear') {
      this.#messages = []
      console.log('This is a new conversation.')
    } else if (line.startsWith('/')) console.log(help)
    else if (line !== '') await this.#ask(line)
  }

  async #ask(question: string): Promise<void> {
    const before = this.#messages
    this.#messages = [...before, { role: 'user' as const, content: question }].slice(-mostMessages)
    const answering = (this.#answering = new AbortController())
    const screen = { out: (text: string) => process.stdout.write(text), line: new StatusLine(process.stdout) }
    try {
      const text = await showAnswer(this.#client, this.#model, this.#messages, screen, answering.signal)
      this.#messages.push({ role: 'assistant', content: text })
      process.stdout.write(answering.signal.aborted ? ' (stopped)\n\n' : '\n\n')
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      // The conversation goes on as if it had not been asked: the next try may be answered.
      this.#messages = before
      console.log(error.message)
    } finally {
      this.#answering = undefined
    }
  }
}
