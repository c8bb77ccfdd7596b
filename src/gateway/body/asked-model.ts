import { SluiceError } from '../../foundation/errors.ts'
import type { RequestHead } from '../../relay/exchange.ts'
import type { NamedModel } from '../../traffic/model-catalog.ts'
import type { GrantedModels } from '../access/granted-models.ts'
import type { InferenceRoute } from '../routes.ts'
import { FormScanner, formBoundary } from './form-scanner.ts'
import { type BodySource, type Fail, type JsonAsked, readJsonBody, readLooseModel } from './json-body.ts'

/** What a request asks for, as far as routing needs it. */
export interface Asked {
  /** The Model's own name. */
  readonly model: string
  /** The name that its engine knows, for a body that says another one. */
  readonly renamed?: string | undefined
  readonly streamed: boolean
  /** A JSON body that was read whole, or enough of its beginning. It may still be invalid. */
  readonly body?: Buffer | undefined
  /** Checks a large body; rejects if it is not valid. */
  readonly check?: JsonAsked['check']
}

/** A request's body, and the models it may name. */
export interface AskedSource extends BodySource {
  readonly models: GrantedModels
}

type GoOn = (asked: Asked) => void

/**
 * A JSON body is read whole, within a limit: `model` and `stream` can be anywhere in it, and a whole body can be sent
 * to another endpoint after a failure. A form is read up to its model and then streamed, because an audio file follows.
 */
export function readAsked(source: AskedSource, route: InferenceRoute, goOn: GoOn, fail: Fail): void {
  const { head } = source.exchange
  refuseEncoded(head)
  const contentType = head.headers.get('content-type') ?? ''
  if (route.body === 'json') {
    // Pages of other sites could send other content types without the browser asking first.
    if (!isJson(contentType)) throw wrongType('application/json', contentType)
    return readJsonBody(source, (json) => chooseIn(json, source.models, goOn, fail), fail)
  }
  const boundary = formBoundary(contentType)
  if (boundary === undefined) throw wrongType('multipart/form-data', contentType)
  readForm(source, boundary, goOn, fail)
}

/**
 * Looks in the header, the query, the JSON body, and for the only Model, in this order. The body is read only if
 * needed.
 */
export function readPassThrough(source: AskedSource, goOn: GoOn, fail: Fail): void {
  const { exchange, models } = source
  const { head } = exchange
  const choose = (model: unknown): void => {
    const take = (name: string) => goOn({ model: name, streamed: false })
    if (typeof model !== 'string' || model === '') return take(onlyModel(models))
    models.findNewest(model, (found) => take(found.model.name), fail)
  }
  const named = head.headers.get('x-sluice-model') ?? new URLSearchParams(head.query).get('model')
  if (named !== null && named !== '') return choose(named)
  if (isJson(head.headers.get('content-type') ?? '') && head.headers.get('content-encoding') === undefined) {
    return readLooseModel(source, choose, fail)
  }
  choose(undefined)
}

function onlyModel(models: GrantedModels): string {
  const [only, ...others] = models.ownNames()
  if (only !== undefined && others.length === 0) return only
  throw models.required('the header "x-sluice-model", the query "model" or the JSON field "model"')
}

function chooseIn({ model, streamed, body, check }: JsonAsked, models: GrantedModels, goOn: GoOn, fail: Fail): void {
  const take = ({ model: found, engineName }: NamedModel) => {
    goOn({ model: found.name, renamed: engineName === model ? undefined : engineName, streamed, body, check })
  }
  choose(model, models, take, fail)
}

function readForm({ exchange, models, share }: AskedSource, boundary: string, goOn: GoOn, fail: Fail): void {
  const form = new FormScanner(boundary)
  const finish = () => {
    form.finish()
    const take = ({ model, engineName }: NamedModel) => {
      if (engineName !== form.model) throw aliasInForm(engineName)
      goOn({ model: model.name, streamed: form.streamed })
    }
    choose(form.model, models, take, fail)
  }
  share.readUntil(exchange, (piece) => form.push(piece), finish, fail)
}

function choose(model: unknown, models: GrantedModels, goOn: (found: NamedModel) => void, fail: Fail): void {
  if (typeof model !== 'string' || model === '') throw models.required('the field "model"')
  models.findNewest(model, goOn, fail)
}

/** A form is sent on while it arrives, so nothing in it can be changed. */
function aliasInForm(model: string): SluiceError {
  const reason = `In a form, the field model must have the Model's own name, which is ${model}.`
  return new SluiceError('invalid_request', { reason, param: 'model' })
}

/** Whether this is a JSON content type; almost all clients write it in the same way, which is checked first. */
function isJson(contentType: string): boolean {
  return contentType === 'application/json' || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)
}

function wrongType(expected: string, received: string): SluiceError {
  const said = received === '' ? 'without a content type' : received.slice(0, 200)
  return new SluiceError('unsupported_media_type', { expected, received: said })
}

function refuseEncoded(head: RequestHead): void {
  const encoding = head.headers.get('content-encoding')
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  throw new SluiceError('unsupported_media_type', {
    expected: 'it is, without content-encoding',
    received: encoding.slice(0, 100),
  })
}
