import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode, ErrorDetails } from '../../foundation/errors.ts'
import type { PlannedWrite } from '../planned-write.ts'
import type { StoreSelector } from '../store.ts'

/**
 * Rows of the log as one flat array, the fields of one row after the other: revision, type, resource, namespace, name,
 * previous, object. Copying one flat array to another thread takes a fraction of the time that as many objects take.
 */
export type FlatRows = ReadonlyArray<string | number | null>
export const fieldsOfRow = 7

/** Messages to the thread that owns the file, in order. */
export type ToLogThread =
  /** Rows to be made durable together. */
  | { readonly type: 'append'; readonly rows: FlatRows; readonly bytes: number }
  /** Asks for another slice of the current objects. */
  | { readonly type: 'load' }
  | {
      readonly type: 'read'
      readonly id: number
      readonly selector: StoreSelector
      readonly afterRevision: number
      readonly limit: number
    }
  /** Closes the file, after everything before it is done. */
  | { readonly type: 'close' }

/** Messages from the thread, in the order in which things happened. */
export type FromLogThread =
  | { readonly type: 'opened'; readonly revision: number }
  /** Every write up to the revision survives a power cut. */
  | { readonly type: 'durable'; readonly revision: number }
  /** Nothing can be written any more. */
  | { readonly type: 'failed'; readonly failure: SentFailure }
  | { readonly type: 'slice'; readonly rows: FlatRows; readonly isLast: boolean }
  | HistoryPageMessage
  | { readonly type: 'compacted'; readonly id: number; readonly oldestRevision: number }
  | { readonly type: 'unreadable'; readonly id: number; readonly failure: SentFailure }
  | { readonly type: 'closed' }

export interface HistoryPageMessage {
  readonly type: 'page'
  readonly id: number
  readonly rows: FlatRows
  /** For each row, the object that it replaced. */
  readonly previous: ReadonlyArray<string | null>
  /** The newest revision that was durable when the page was read. */
  readonly revision: number
}

/** A coded error as plain data. */
export interface SentFailure {
  readonly code: ErrorCode
  readonly details: ErrorDetails
}

/** What is to be known of a file before it is opened. */
export interface LogThreadData {
  readonly path: string
  readonly historyLimit: number
  readonly keepNewest: Readonly<Record<string, number>>
  /** True when the current objects are known already, because a thread that was lost had loaded them. */
  readonly isLoaded: boolean
  /** For tests: where the thread is to stop or to end. */
  readonly gate: SharedArrayBuffer | undefined
}

/** A file for the thread to have, and the port of its user. Told nothing, the thread ends. */
export interface OpenFile {
  readonly data: LogThreadData
  readonly port: MessagePort
}

/** Asks the thread for a copy of a file, which may be one that it has open. The port gets the answer. */
export interface CopyFile {
  readonly from: string
  readonly to: string
  readonly port: MessagePort
}

/** `undefined` when the copy is whole. */
export type CopyAnswer = SentFailure | undefined

export function flatRows(writes: readonly PlannedWrite[]): { readonly rows: FlatRows; readonly bytes: number } {
  const rows: Array<string | number | null> = []
  let bytes = 0
  for (const { event, text, previousRevision } of writes) {
    const { resource, namespace, name } = event.key
    rows.push(event.revision, event.type, resource, namespace, name, previousRevision, text)
    bytes += text?.length ?? 0
  }
  return { rows, bytes }
}
