import type { AssistantMessage } from '../conversation/conversation.ts'
import { part } from './element.ts'
import { unreachable } from '../unreachable.ts'

/** Tells a screen reader the stages of an answer, not every token. */
export class Announcer {
  readonly #region = part('announcer', HTMLElement)
  #last = ''

  update(answer: AssistantMessage | undefined): void {
    const key =
      answer === undefined ? '' : `${answer.id} ${answer.status} ${answer.status === 'waiting' && answer.woke}`
    if (key === this.#last) return
    const started = this.#last !== ''
    this.#last = key
    // Answers that were there when the conversation was opened are not announced.
    if (answer === undefined || (!started && answer.status !== 'waiting')) return
    this.#region.textContent = announcement(answer)
  }

  /** To be called when another conversation is shown, since its messages are not new. */
  forget(): void {
    this.#last = ''
  }
}

function announcement(answer: AssistantMessage): string {
  const { status } = answer
  switch (status) {
    case 'waiting':
      return answer.woke ? `Waking ${answer.model}` : `Waiting for ${answer.model}`
    case 'streaming':
      return `${answer.model} is answering`
    case 'done':
      // The list of messages is a live region that reads the answer itself, now that it is no longer busy.
      return ''
    case 'stopped':
      return 'Stopped'
    case 'failed':
      // The error box is an alert and speaks for itself.
      return ''
    default:
      return unreachable(status)
  }
}
