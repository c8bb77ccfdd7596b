import { SluiceError } from '../../foundation/errors.ts'
import type { RequestHead } from '../../relay/exchange.ts'
import type { GrantedModels } from '../access/granted-models.ts'
import type { InferenceRoute } from '../routes.ts'
import { FormScanner, formBoundary } from './form-scanner.ts'
import { type BodySource, type Fail, type JsonAsked, readJsonBody, readLooseModel } from './json-body.ts'

/** What routing needs to know of a request. */
export interface Asked {
  readonly model: string
  readonly streamed: boolean
  /**
   * Where it is JSON and was read whole: it, or enough of its beginning. Whether it is valid has not been looked at.
   */
  readonly body?: Buffer | undefined
  /** Where the body is large, looks whether it is valid, and rejects when it is not. */
  readonly check?: JsonAsked['check']
}

/** A body, and the models that its sender may name in it. */
export interface AskedSource extends BodySource {
  readonly models: GrantedModels
}

type GoOn = (asked: Asked) => void

/**
 * JSON is read whole, within the bound: `model` and `stream` may stand anywhere in it, and what is whole can be sent to
 * another endpoint. A form is read up to its model and streams from there: what follows is an audio file.
 */
export function readAsked(source: AskedSource, route: InferenceRoute, goOn: GoOn, fail: Fail): void {
  const { head } = source.exchange
  refuseEncoded(head)
  const contentType = head.headers.get('content-type') ?? ''
  if (route.body === 'json') {
    // A page of any site may send other types without asking the browser first.
    if (!isJson(contentType)) throw wrongType('application/json', contentType)
    return readJsonBody(source, (json) => goOn(chosenIn(json, source.models)), fail)
  }
  const boundary = formBoundary(contentType)
  if (boundary === undefined) throw wrongType('multipart/form-data', contentType)
  readForm(source, boundary, goOn, fail)
}

/** Header, query, JSON body, the only Model, in this order. The body is read only when it is needed. */
export function readPassThrough(source: AskedSource, goOn: GoOn, fail: Fail): void {
  const { exchange, models } = source
  const { head } = exchange
  const choose = (model: unknown): void => {
    const name = typeof model === 'string' && model !== '' ? models.find(model).name : onlyModel(models)
    goOn({ model: name, streamed: false })
  }
  const named = head.headers.get('x-sluice-model') ?? new URLSearchParams(head.query).get('model')
  if (named !== null && named !== '') return choose(named)
  if (isJson(head.headers.get('content-type') ?? '') && head.headers.get('content-encoding') === undefined) {
    return readLooseModel(source, choose, fail)
  }
  choose(undefined)
}

function onlyModel(models: GrantedModels): string {
  const [only, ...others] = models.list()
  if (only && others.length === 0) return only.name
  throw models.required('the header "x-sluice-model", the query "model" or the JSON field "model"')
}

function chosenIn({ model, streamed, body, check }: JsonAsked, models: GrantedModels): Asked {
  return { model: chosen(model, models), streamed, body, check }
}

function readForm({ exchange, models, share }: AskedSource, boundary: string, goOn: GoOn, fail: Fail): void {
  const form = new FormScanner(boundary)
  const finish = () => {
    form.finish()
    goOn({ model: chosen(form.model, models), streamed: form.streamed })
  }
  share.readUntil(exchange, (piece) => form.push(piece), finish, fail)
}

function chosen(model: unknown, models: GrantedModels): string {
  if (typeof model !== 'string' || model === '') throw models.required('the field "model"')
  return models.find(model).name
}

/** `application/json`, and what is like it; almost all write it in the same way. */
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
