import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { LogKeeping } from './log-keeping.ts'
import { copyDatabaseFile } from './copy-database.ts'
import type {
  CopyAnswer,
  CopyFile,
  FlatRows,
  FromLogThread,
  LogThreadData,
  OpenFile,
  SentFailure,
  ToLogThread,
} from './log-messages.ts'
import { storeFailure } from './sqlite-failure.ts'
import { type LoadSlices, SqliteLog } from './sqlite-log.ts'
import { StepGate } from './step-gate.ts'

type Append = Extract<ToLogThread, { type: 'append' }>
type Read = Extract<ToLogThread, { type: 'read' }>

/** By path. */
const openFiles = new Map<string, LogThread>()

/** The largest commit: writes that waited while the disk was busy share the next one up to this size. */
const largestCommitRows = 7_000
const largestCommitBytes = 4 * 1024 * 1024

/**
 * One file in the thread. It answers in the order in which things happen, over one port: who is told that
 * a write is durable has been told of everything before it, and a page of history has everything that was said
 * to be durable before the page.
 */
class LogThread {
  readonly #port: MessagePort
  readonly #log: SqliteLog
  readonly #path: string
  readonly #keeping: LogKeeping
  readonly #gate: StepGate | undefined
  readonly #reads: Read[] = []
  #slices: LoadSlices | undefined
  #failure: SentFailure | undefined
  #isScheduled = false
  #wasRead = false

  constructor(
    port: MessagePort,
    { path, historyLimit, keepNewest, isLoaded }: LogThreadData,
    gate: StepGate | undefined,
  ) {
    this.#port = port
    this.#path = path
    this.#gate = gate
    this.#log = SqliteLog.open(path, gate)
    this.#keeping = new LogKeeping(this.#log, historyLimit)
    this.#slices = isLoaded ? undefined : this.#log.load(keepNewest)
    gate?.pass('opened')
    port.on('message', (message: ToLogThread) => this.#hear(message))
    this.#say({ type: 'opened', revision: this.#log.revision })
  }

  /** Ends with an error when the file is closed meanwhile. */
  copyTo(path: string): Promise<void> {
    return this.#log.copyTo(path)
  }

  #hear(first: ToLogThread): void {
    const appends: Append[] = []
    let rows = 0
    let bytes = 0
    for (let message: ToLogThread | undefined = first; message; message = this.#nextMessage()) {
      if (message.type === 'append') {
        appends.push(message)
        rows += message.rows.length
        bytes += message.bytes
        if (rows < largestCommitRows && bytes < largestCommitBytes) continue
        break
      }
      if (message.type === 'read') this.#reads.push(message)
      else if (message.type === 'load') this.#load()
      else {
        this.#commit(appends, bytes)
        return this.#close()
      }
    }
    this.#commit(appends, bytes)
    this.#schedule()
  }

  #nextMessage(): ToLogThread | undefined {
    const message: ToLogThread | undefined = receiveMessageOnPort(this.#port)?.message
    return message
  }

  #commit(appends: readonly Append[], bytes: number): void {
    const [first] = appends
    if (!first) return
    if (this.#failure) return
    this.#gate?.pass('received')
    try {
      this.#log.append(appends.length === 1 ? first.rows : appends.flatMap<FlatRows[number]>(({ rows }) => rows), bytes)
    } catch (error) {
      return this.#fail(error)
    }
    this.#gate?.pass('committed')
    this.#say({ type: 'durable', revision: this.#log.revision })
    this.#gate?.pass('told')
    this.#keeping.grown()
  }

  /** Everything else happens between commits, a piece at a time: questions and keeping the file small alternate. */
  #schedule(): void {
    if (this.#isScheduled || (this.#reads.length === 0 && !this.#mustKeep)) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const isKeeping = this.#mustKeep && (this.#wasRead || this.#reads.length === 0)
      const read = isKeeping ? undefined : this.#reads.shift()
      this.#wasRead = read !== undefined
      if (read) this.#read(read)
      else this.#keep()
      this.#schedule()
    })
  }

  get #mustKeep(): boolean {
    return this.#keeping.hasWork && !this.#slices && !this.#failure
  }

  #keep(): void {
    try {
      if (this.#mustKeep) this.#keeping.step()
    } catch (error) {
      this.#fail(error)
    }
  }

  #load(): void {
    if (!this.#slices) return
    try {
      const { value: rows } = this.#slices.next()
      if (!rows) {
        this.#slices = undefined
        this.#keeping.loaded()
      }
      this.#say({ type: 'slice', rows: rows ?? [], isLast: !rows })
    } catch (error) {
      this.#fail(error)
    }
  }

  #read({ id, selector, afterRevision, limit }: Read): void {
    const { oldestRevision } = this.#keeping
    if (afterRevision < oldestRevision) return this.#say({ type: 'compacted', id, oldestRevision })
    try {
      const { rows, previous } = this.#log.read(selector, afterRevision, limit)
      this.#say({ type: 'page', id, rows, previous, revision: this.#log.revision })
    } catch (error) {
      this.#say({ type: 'unreadable', id, failure: failureOf(error, this.#path) })
    }
  }

  #close(): void {
    if (openFiles.get(this.#path) === this) openFiles.delete(this.#path)
    try {
      if (!this.#failure) this.#keeping.finish()
      this.#log.close()
    } catch (error) {
      this.#fail(error)
    }
    this.#say({ type: 'closed' })
    this.#port.close()
  }

  #fail(error: unknown): void {
    this.#failure = failureOf(error, this.#path)
    this.#say({ type: 'failed', failure: this.#failure })
  }

  #say(message: FromLogThread): void {
    this.#port.postMessage(message, [])
  }
}

function failureOf(error: unknown, path: string): SentFailure {
  const { code, details } = storeFailure(error, path)
  return { code, details }
}

function open({ data, port }: OpenFile): void {
  try {
    openFiles.set(data.path, new LogThread(port, data, data.gate && new StepGate(data.gate)))
  } catch (error) {
    const say = (message: FromLogThread) => port.postMessage(message, [])
    say({ type: 'failed', failure: failureOf(error, data.path) })
    say({ type: 'closed' })
    port.close()
  }
}

async function copy({ from, to, port }: CopyFile): Promise<void> {
  const answer = (said: CopyAnswer) => port.postMessage(said, [])
  try {
    await (openFiles.get(from)?.copyTo(to) ?? copyDatabaseFile(from, to))
    answer(undefined)
  } catch (error) {
    answer(failureOf(error, from))
  }
  port.close()
}

parentPort?.on('message', (asked: OpenFile | CopyFile | undefined) => {
  if (!asked) parentPort?.close()
  else if ('from' in asked) void copy(asked)
  else open(asked)
})
