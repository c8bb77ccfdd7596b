import { SluiceError } from '../../foundation/errors.ts'
import type { Exchange } from '../../relay/exchange.ts'
import type { TurnWork } from '../body/turn-work.ts'
import { isStrict } from '../answers/ignored-parameters.ts'
import { outlineBody, type OutlinedBody, wholeOutline } from './held-texts.ts'
import type { Fields } from './request-fields.ts'
import { translateRequest } from './responses-request.ts'

/** A larger body is read in slices, over several turns of the event loop. */
const parsedBytes = 65_536

/** A request for a response, ready to be sent as a chat completion. */
export interface ResponsesTranslation {
  /** The name that the model's engine knows. */
  readonly model: string
  /** The chat completion's body. */
  readonly body: readonly Buffer[]
  /** What the response repeats of the request. */
  readonly echo: Fields
  /** Parameters that have no effect here. */
  readonly ignored: readonly string[]
  /** JSON with what is repeated of the request, with long texts in their places. */
  pieces(json: string): readonly Buffer[]
}

/** Translates the body of an exchange, which was read whole. A small one is translated before this returns. */
export function translateBody(
  source: {
    readonly exchange: Exchange
    readonly work: TurnWork
    /** The name that the model's engine knows, if the body says another one. */
    readonly model: string | undefined
  },
  goOn: (translation: ResponsesTranslation) => void,
  fail: (error: unknown) => void,
): void {
  const { exchange, work, model } = source
  const body = exchange.joinedBody()
  const strict = isStrict(exchange.head.headers)
  if (body.length <= parsedBytes) return goOn(translated(wholeOutline(body), strict, model))
  outlineBody(body, work)
    .then((outlined) => goOn(translated(outlined, strict, model)))
    .catch(fail)
}

function translated(outlined: OutlinedBody, strict: boolean, model: string | undefined): ResponsesTranslation {
  const { chat, echo, ignored } = translateRequest(outlined.outline)
  const [first] = ignored
  if (strict && first !== undefined) {
    throw new SluiceError('unsupported_parameter', { param: first, reason: 'it has no effect here' })
  }
  const sent = model === undefined ? chat : { ...chat, model }
  return {
    model: String(sent['model']),
    body: outlined.pieces(JSON.stringify(sent)),
    echo,
    ignored,
    pieces: (json) => outlined.pieces(json),
  }
}
