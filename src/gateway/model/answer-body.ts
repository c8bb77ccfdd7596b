import type { ResponseHead, ResponseStream } from '../../relay/exchange.ts'
import type { OpenAiError } from '../answers/openai-errors.ts'

/** Where a model's answer goes that cannot go to the client as it is. */
export interface AnswerBody extends ResponseStream {
  /** Called before the first byte of the body. */
  begin(head: ResponseHead): void
  /** The answer broke off. Returns what is written after what was passed on, before the end. */
  abandon(error: OpenAiError): string
}
