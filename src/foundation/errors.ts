import { type ErrorCode, type ErrorDetails, errorCatalog } from './error-catalog.ts'

export type { ErrorCode, ErrorDetails }

/**
 * The only error type that crosses rooms. It carries a code from the catalog and the details of the case. Each
 * interface renders it once, in its own form (an OpenAI error, `{code,msg}`, a line on the terminal).
 */
export class SluiceError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  override readonly name = 'SluiceError'

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(renderMessage(code, details), options)
    this.code = code
    this.details = details
  }

  /** The HTTP status with which an HTTP interface answers. */
  get status(): number {
    return errorCatalog[this.code].status
  }
}

/** Fills the `{name}` places of the catalog's message with the details; a missing one stays visible as `{name}`. */
function renderMessage(code: ErrorCode, details: ErrorDetails): string {
  return errorCatalog[code].message.replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    details[name] === undefined ? place : String(details[name]),
  )
}

/** The message of a caught value, which may not be an Error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A caught value as an Error, whatever was thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
