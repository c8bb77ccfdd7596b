import { SluiceError } from '../foundation/errors.ts'
import type { Exchange, RequestHead } from '../relay/exchange.ts'
import type { BodyShare } from './body-budget.ts'
import { FormScanner, formBoundary } from './form-scanner.ts'
import type { GrantedModels } from './granted-models.ts'
import { glanceAt } from './json-glance.ts'
import type { InferenceRoute } from './routes.ts'

/** What routing needs to know of a request. */
export interface Asked {
  readonly model: string
  readonly streamed: boolean
  /** Where it is JSON and was read whole. Whether it is valid has not been looked at. */
  readonly body?: Buffer | undefined
}

/**
 * JSON is read whole, within the bound: `model` and `stream` may stand anywhere in it, and what is whole can be sent to
 * another endpoint. A form is read up to its model and streams from there: what follows is an audio file.
 */
export function readAsked(
  exchange: Exchange,
  route: InferenceRoute,
  models: GrantedModels,
  share: BodyShare,
): Asked | Promise<Asked> {
  refuseEncoded(exchange.head)
  const contentType = exchange.head.headers.get('content-type') ?? ''
  const boundary = formBoundary(contentType)
  if ((route.body === 'form') !== (boundary !== undefined)) {
    const expected = route.body === 'form' ? 'multipart/form-data' : 'application/json'
    throw new SluiceError('unsupported_media_type', { expected, received: contentType || 'nothing said' })
  }
  return boundary === undefined ? readJson(exchange, models, share) : readForm(exchange, boundary, models, share)
}

/** Header, query, JSON body, the only Model, in this order. The body is read only when it is needed. */
export async function readPassThrough(exchange: Exchange, models: GrantedModels, share: BodyShare): Promise<Asked> {
  return { model: await readPassThroughModel(exchange, models, share), streamed: false }
}

async function readPassThroughModel(exchange: Exchange, models: GrantedModels, share: BodyShare): Promise<string> {
  const { head } = exchange
  const named = head.headers.get('x-sluice-model') ?? new URLSearchParams(head.query).get('model')
  if (named !== null && named !== '') return models.find(named).name
  if (isJson(head) && head.headers.get('content-encoding') === undefined) {
    const model = modelOfLooseJson(await share.read(exchange))
    if (model !== undefined) return models.find(model).name
  }
  const [only, ...others] = models.list()
  if (only && others.length === 0) return only.name
  throw models.required('the header "x-sluice-model", the query "model" or the JSON field "model"')
}

/** At once when all of it is here, as it is with most requests. */
function readJson(exchange: Exchange, models: GrantedModels, share: BodyShare): Asked | Promise<Asked> {
  const body = share.arrived(exchange)
  return body ? askedIn(body, models) : share.read(exchange).then((whole) => askedIn(whole, models))
}

function askedIn(body: Buffer, models: GrantedModels): Asked {
  const { model, streamed } = glanceAt(body) ?? parsedIn(body)
  return { model: chosen(model, models), streamed, body }
}

function parsedIn(body: Buffer): { readonly model: unknown; readonly streamed: boolean } {
  const { model, stream } = parseJson(body)
  return { model, streamed: stream === true }
}

async function readForm(exchange: Exchange, boundary: string, models: GrantedModels, share: BodyShare): Promise<Asked> {
  const form = new FormScanner(boundary)
  await share.readUntil(exchange, (piece) => form.push(piece))
  form.finish()
  return { model: chosen(form.model, models), streamed: form.streamed }
}

function chosen(model: unknown, models: GrantedModels): string {
  if (typeof model !== 'string' || model === '') throw models.required('the field "model"')
  return models.find(model).name
}

/** Throws `invalid_json` for what no model's server could read. */
export function parseJson(body: Buffer): { model?: unknown; stream?: unknown } {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new SluiceError('invalid_json', { reason: whyInvalid(body, String(error)) })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SluiceError('invalid_json', { reason: 'it is not an object' })
  }
  return value
}

/** Node's own message quotes the body, which may be long; the place is what helps. */
function whyInvalid(body: Buffer, message: string): string {
  if (body.length === 0) return 'it is empty'
  if (message.includes('Unexpected end')) return 'it ends too early'
  const place = / at position \d+/.exec(message)?.[0] ?? ''
  return `it has an unexpected character${place}`
}

function modelOfLooseJson(body: Buffer): string | undefined {
  try {
    const { model } = parseJson(body)
    return typeof model === 'string' && model !== '' ? model : undefined
  } catch {
    return undefined
  }
}

function isJson(head: RequestHead): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(head.headers.get('content-type') ?? '')
}

function refuseEncoded(head: RequestHead): void {
  const encoding = head.headers.get('content-encoding')
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  throw new SluiceError('unsupported_media_type', {
    expected: 'it is, without content-encoding',
    received: encoding.slice(0, 100),
  })
}
