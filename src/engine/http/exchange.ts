import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import type { AccessCheck } from './access-key.ts'
import type { AnswerRecord } from '../answers/answer-writing.ts'
import type { EngineMetrics } from '../engine-metrics.ts'
import type { EngineState } from '../engine-state.ts'

/** What all routes share. */
export interface HttpFaceParts {
  readonly state: EngineState
  readonly metrics: EngineMetrics
  readonly clock: Clock
  readonly log: Logger
  /** Checks the key of requests, if there is one. Paths that probes and scrapers read need none. */
  readonly access?: AccessCheck | undefined
  /** The model path as it was given to the serve command. */
  readonly modelPath: string
  /** Aborted when the grace period of a stop is over. */
  readonly abort: AbortSignal
}

/** One request with its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly signal: AbortSignal
  readonly record: AnswerRecord
}

export type Handler = (parts: HttpFaceParts, exchange: Exchange) => Promise<void> | void

export function requireName(state: EngineState, name: string): void {
  if (name !== state.modelName) throw new SluiceError('model_not_found', { model: name, param: 'model' })
}

/** Checks that the model has these tokens, since their numbers come from clients. */
export function requireTokens(tokens: readonly number[], vocabularySize: number, param: string): void {
  const unknown = tokens.find((token) => token >= vocabularySize)
  if (unknown === undefined) return
  throw new SluiceError('invalid_request', { reason: `${param}: the model has no token ${unknown}.`, param })
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
