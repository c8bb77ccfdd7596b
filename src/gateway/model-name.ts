import { SluiceError } from '../foundation/errors.ts'
import type { Exchange, RequestHead } from '../relay/exchange.ts'
import type { CatalogModel, ModelCatalog } from '../traffic/model-catalog.ts'
import type { BodyShare } from './body-budget.ts'
import { formBoundary, readFormFields } from './form-fields.ts'
import type { InferenceRoute } from './routes.ts'

/** What routing needs to know of a request. */
export interface Asked {
  readonly model: string
  readonly streamed: boolean
}

const longestChoices = 20

/** Reads the body once, within the bound; it is kept for forwarding as it came. */
export async function readAsked(
  exchange: Exchange,
  route: InferenceRoute,
  catalog: ModelCatalog,
  share: BodyShare,
): Promise<Asked> {
  refuseEncoded(exchange.head)
  const contentType = exchange.head.headers.get('content-type') ?? ''
  const boundary = formBoundary(contentType)
  if ((route.body === 'form') !== (boundary !== undefined)) {
    const expected = route.body === 'form' ? 'multipart/form-data' : 'application/json'
    throw new SluiceError('unsupported_media_type', { expected, received: contentType || 'nothing said' })
  }
  const body = await share.read(exchange)
  const { model, stream } = boundary === undefined ? parseJson(body) : formFields(body, boundary)
  if (typeof model !== 'string' || model === '') throw modelRequired(catalog, 'the field "model"')
  return { model: knownModel(catalog, model), streamed: stream === true }
}

/** Header, query, JSON body, the only Model, in this order. The body is read only when it is needed. */
export async function readPassThroughModel(
  exchange: Exchange,
  catalog: ModelCatalog,
  share: BodyShare,
): Promise<string> {
  const { head } = exchange
  const named = head.headers.get('x-sluice-model') ?? new URLSearchParams(head.query).get('model')
  if (named !== null && named !== '') return knownModel(catalog, named)
  if (isJson(head) && head.headers.get('content-encoding') === undefined) {
    const model = modelOfLooseJson(await share.read(exchange))
    if (model !== undefined) return knownModel(catalog, model)
  }
  const [only, ...others] = catalog.list()
  if (only && others.length === 0) return only.name
  throw modelRequired(catalog, 'the header "x-sluice-model", the query "model" or the JSON field "model"')
}

function knownModel(catalog: ModelCatalog, model: string): string {
  if (!catalog.get(model)) throw new SluiceError('model_not_found', { model: shortened(model) })
  return model
}

function modelRequired(catalog: ModelCatalog, how: string): SluiceError {
  const names = catalog.list().map(({ name }: CatalogModel) => name)
  const shown = names.slice(0, longestChoices).join(', ') + (names.length > longestChoices ? ', …' : '')
  return new SluiceError('model_required', { how, models: shown || 'none yet' })
}

function parseJson(body: Buffer): { model?: unknown; stream?: unknown } {
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

function formFields(body: Buffer, boundary: string): { model?: unknown; stream?: unknown } {
  const fields = readFormFields(body, boundary, ['model', 'stream'])
  return { model: fields.get('model'), stream: fields.get('stream')?.toLowerCase() === 'true' }
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
    received: shortened(encoding),
  })
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
