import type { AssistantMessage } from '../conversation/conversation.ts'
import { part } from './element.ts'
import { unreachable } from '../unreachable.ts'

/** Tells a screen reader the steps of an answer, not every token of it. */
export class Announcer {
  readonly #region = part('announcer', HTMLElement)
  #last = ''

  update(answer: AssistantMessage | undefined): void {
    const key =
      answer === undefined ? '' : `${answer.id} ${answer.status} ${answer.status === 'waiting' && answer.woke}`
    if (key === this.#last) return
    const started = this.#last !== ''
    this.#last = key
    // What was there when the conversation was opened is read by the reader, not announced.
    if (answer === undefined || (!started && answer.status !== 'waiting')) return
    this.#region.textContent = announcement(answer)
  }

  /** Another conversation is shown: what it says is not news. */
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
      // The list of messages is a live region and reads the answer itself, now that it is no longer busy.
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
