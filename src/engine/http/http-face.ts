import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import type { AnswerRecord } from '../answers/answer-writing.ts'
import { type Exchange, type Handler, type HttpFaceParts, sendJson } from './exchange.ts'
import { answerChat, answerEmbeddings, answerText } from './generating-routes.ts'
import { renderOpenAiError } from './openai-errors.ts'
import { answerDetokenize, answerTokenize } from './token-routes.ts'

export type { HttpFaceParts }

/** Even on a slow machine the longest answer takes less than this, including the wait for a seat. */
const answerDeadlineMs = 3_600_000

const version = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))).version

/** All paths, each with its method and handler. */
const routes: Readonly<Record<string, { readonly method: 'GET' | 'POST'; readonly handle: Handler }>> = {
  '/health': { method: 'GET', handle: answerHealth },
  '/readyz': { method: 'GET', handle: answerHealth },
  '/healthz': { method: 'GET', handle: (_parts, { response }) => sendJson(response, 200, { status: 'ok' }) },
  '/version': { method: 'GET', handle: (_parts, { response }) => sendJson(response, 200, { version }) },
  '/metrics': { method: 'GET', handle: answerMetrics },
  '/v1/models': { method: 'GET', handle: answerModels },
  '/v1/chat/completions': { method: 'POST', handle: answerChat },
  '/v1/completions': { method: 'POST', handle: answerText },
  '/tokenize': { method: 'POST', handle: answerTokenize },
  '/detokenize': { method: 'POST', handle: answerDetokenize },
  '/v1/embeddings': { method: 'POST', handle: answerEmbeddings },
  '/v1/audio/transcriptions': { method: 'POST', handle: refuseTranscription },
}

/** Read by probes and scrapers, which have no key. They reveal nothing about requests. */
const openPaths: ReadonlySet<string> = new Set(['/health', '/readyz', '/healthz', '/version', '/metrics'])

/** The engine's HTTP interface, which follows vLLM's. */
export function createHttpFace(parts: HttpFaceParts): RequestListener {
  return (request, response) => {
    void serve(parts, request, response)
  }
}

async function serve(parts: HttpFaceParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const startedAt = parts.clock.now()
  const leave = parts.state.enter()
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new SluiceError('client_gone'))
  })
  const record: AnswerRecord = { promptTokens: 0, reusedTokens: 0, completionTokens: 0, firstTokenAt: undefined }
  const cancelDeadline = parts.clock.after(answerDeadlineMs, () => {
    gone.abort(new SluiceError('answer_deadline', { seconds: answerDeadlineMs / 1000 }))
  })
  const signal = AbortSignal.any([gone.signal, parts.abort])
  const path = (request.url ?? '/').split('?')[0] ?? '/'
  let failure: unknown
  try {
    if (!openPaths.has(path)) parts.access?.admit(request.headers.authorization)
    await handlerFor(request.method ?? 'GET', path)(parts, { request, response, signal, record })
  } catch (error) {
    // An aborted wait can throw anything; the reason of the abort is what really happened.
    failure = signal.aborted ? signal.reason : error
    sendFailure(response, failure)
  } finally {
    cancelDeadline()
    leave()
  }
  if (path in routes && request.method === 'POST') report(parts, path, startedAt, record, response, failure)
}

function handlerFor(method: string, path: string): Handler {
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (!route) throw new SluiceError('route_not_found', { method, path })
  if (route.method !== method) throw new SluiceError('method_not_allowed', { method, path, allowed: route.method })
  return route.handle
}

function answerHealth({ state }: HttpFaceParts, { response }: Exchange): void {
  const { status, body } = state.health()
  sendJson(response, status, body)
}

async function answerMetrics({ metrics, state }: HttpFaceParts, { response }: Exchange): Promise<void> {
  const text = await metrics.text({ ready: state.ready, loading: state.loading, ...state.load })
  response.writeHead(200, { 'content-type': metrics.contentType })
  response.end(text)
}

function answerModels({ state, modelPath, clock }: HttpFaceParts, { response }: Exchange): void {
  const model = state.requireModel()
  const entry = {
    id: state.modelName,
    object: 'model',
    created: Math.floor(clock.now() / 1000),
    owned_by: 'sluice',
    root: modelPath,
    parent: null,
    max_model_len: model.contextLength,
    permission: [],
  }
  sendJson(response, 200, { object: 'list', data: [entry] })
}

function refuseTranscription({ state }: HttpFaceParts): never {
  throw new SluiceError('invalid_request', {
    reason: `The model ${state.modelName} reads and writes text; this engine does not make transcriptions.`,
  })
}

/** Tells the client what failed: as a response, or as the last event of a stream that has already begun. */
function sendFailure(response: ServerResponse, failure: unknown): void {
  if (response.destroyed) return
  const { status, headers, body } = renderOpenAiError(failure)
  if (response.headersSent) {
    response.end(`data: ${JSON.stringify(body)}\n\n`)
    return
  }
  // If the body was not read to its end, the rest of it would be taken for the next request.
  const close = response.req.complete ? {} : { connection: 'close' }
  response.writeHead(status, { 'content-type': 'application/json', ...headers, ...close })
  response.end(JSON.stringify(body))
}

/** Logs one line per finished request. */
function report(
  { clock, log, metrics }: HttpFaceParts,
  endpoint: string,
  startedAt: number,
  record: AnswerRecord,
  response: ServerResponse,
  failure: unknown,
): void {
  const status = failure === undefined ? response.statusCode : renderOpenAiError(failure).status
  const { firstTokenAt, ...tokens } = record
  const seconds = (clock.now() - startedAt) / 1000
  const firstTokenSeconds = firstTokenAt === undefined ? undefined : (firstTokenAt - startedAt) / 1000
  metrics.finished({ endpoint, status, seconds, firstTokenSeconds, ...tokens })
  const fields = { endpoint, status, seconds, firstTokenSeconds, ...tokens }
  if (failure === undefined) log.info(fields, 'request answered')
  else if (failure instanceof SluiceError) log.info({ ...fields, code: failure.code }, 'request refused')
  else log.error({ ...fields, err: failure }, 'request failed')
}
