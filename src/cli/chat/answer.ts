import type { StatusLine } from '../output/status-line.ts'
import { modelSentence } from '../running/model-sentence.ts'
import type { ChatClient, ChatMessage } from './chat-client.ts'

/** Where an answer is shown. */
export interface Screen {
  readonly out: (text: string) => void
  /** What happens while nothing is answered yet. */
  readonly line: Pick<StatusLine, 'say' | 'clear'>
}

/** Shows an answer as it comes, and what the model does before it. Returns its text, also of one that was stopped. */
export async function showAnswer(
  client: Pick<ChatClient, 'answer' | 'stateOf'>,
  model: string,
  messages: readonly ChatMessage[],
  screen: Screen,
  signal: AbortSignal,
): Promise<string> {
  let text = ''
  const wakeLine = new WakeLine(client, model, screen)
  try {
    for await (const part of client.answer(model, messages, signal)) {
      if (part.kind === 'waking') {
        wakeLine.refresh()
        continue
      }
      wakeLine.end()
      text += part.text
      screen.out(harmless(part.text))
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    wakeLine.end()
  }
  return text
}

/** Says how far a model is that wakes. What it is asked for is not waited for: the answer may come any moment. */
class WakeLine {
  readonly #client: Pick<ChatClient, 'stateOf'>
  readonly #model: string
  readonly #screen: Screen
  #isOver = false
  #isAsking = false

  constructor(client: Pick<ChatClient, 'stateOf'>, model: string, screen: Screen) {
    this.#client = client
    this.#model = model
    this.#screen = screen
  }

  refresh(): void {
    if (this.#isOver || this.#isAsking) return
    this.#isAsking = true
    const asked = this.#client.stateOf(this.#model).then(
      (state) => this.#say(state.phase === 'Asleep' ? 'Waking.' : modelSentence(state)),
      () => this.#say('Waking.'),
    )
    void asked.finally(() => (this.#isAsking = false))
  }

  end(): void {
    if (!this.#isOver) this.#screen.line.clear()
    this.#isOver = true
  }

  #say(sentence: string): void {
    if (!this.#isOver) this.#screen.line.say(`${this.#model}: ${sentence}`)
  }
}

/** What a model writes must not steer the terminal. */
export function harmless(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '')
}
