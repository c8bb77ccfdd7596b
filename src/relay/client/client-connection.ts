import type { Socket } from 'node:net'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Answer, ClientFacts, Done, Handler } from '../exchange.ts'
import { HeadReader } from '../http/head-reader.ts'
import { type ParsedRequest, requestHeads } from '../http/request-head.ts'
import { Deadline } from '../socket/deadline.ts'
import { afterReading } from '../socket/read-batch.ts'
import type { SocketInput } from '../socket/socket-input.ts'
import { OutputBatch, SocketOutput } from '../socket/socket-output.ts'
import { BodyPace } from './body-pace.ts'
import { clientFacts } from './client-facts.ts'
import { ClientExchange, type ClientLink, type ExchangeTools } from './client-exchange.ts'
import { codedFailure, isExpected } from './coded-failure.ts'
import type { RequestBody } from './request-body.ts'
import { ResponseWriter } from './response-writer.ts'

export interface ConnectionTools extends ExchangeTools {
  readonly handler: Handler
  /** Makes the answer to a failure that no handler has answered. */
  readonly errorAnswer: (error: SluiceError) => Answer
  readonly log: Logger
  /** Called when the socket is closed and no handler is running for it. */
  readonly onFinished: (connection: ClientConnection) => void
}

/**
 * idle: between requests. head: a part of a head has arrived. exchange: a handler is running. draining: answered, the
 * rest of the body is being read. ending: we are done, but the client may still be sending. tunnel: the socket was
 * given away.
 */
type Phase = 'idle' | 'head' | 'exchange' | 'draining' | 'ending' | 'tunnel'

/** One client's connection: serves its requests one after the other. */
export class ClientConnection implements ClientLink {
  readonly client: ClientFacts
  readonly out: OutputBatch
  readonly #socket: Socket
  readonly #input: SocketInput
  readonly #output: SocketOutput
  readonly #tools: ConnectionTools
  readonly #reader: HeadReader<ParsedRequest>
  readonly #readDeadline: Deadline
  readonly #writeDeadline: Deadline
  #phase: Phase = 'idle'
  #exchange: ClientExchange | undefined
  #backlog: Buffer[] = []
  #backlogBytes = 0
  #draining: RequestBody | undefined
  #drainedBytes = 0
  #requests = 0
  #stopping = false
  #closed = false
  #bodyPaused = false
  #pausedAt = 0
  /** The pace of a body that is being read and did not come whole. */
  #pace: BodyPace | undefined
  #drainWaiters: Done[] = []
  /** Guards against recursion: requests that arrived together are handled one after the other. */
  #isTaking = false
  /** A request ended, so a paused socket is read again. */
  #isReadyForMore = false

  constructor(socket: Socket, input: SocketInput, secure: boolean, tools: ConnectionTools) {
    this.#socket = socket
    this.#input = input
    this.#tools = tools
    this.client = clientFacts(socket, secure)
    this.#output = new SocketOutput(socket, () => this.#onDrain())
    this.out = new OutputBatch(this.#output)
    this.#reader = new HeadReader(tools.limits, requestHeads)
    this.#readDeadline = new Deadline(tools.clock)
    this.#writeDeadline = new Deadline(tools.clock)
    input.listen(socket, (chunk) => this.#takeAll(chunk))
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    // An error is always followed by `close`.
    socket.on('error', (error) => tools.log.debug({ err: error }, 'client connection failed'))
    this.#readDeadline.set(tools.limits.headTimeoutMs, this.#cutIfSilent)
  }

  readonly input = {
    pause: (): void => {
      this.#bodyPaused = true
      if (this.#pace) this.#pausedAt = this.#tools.clock.now()
      this.#readDeadline.clear()
      this.#socket.pause()
    },
    resume: (): void => {
      if (!this.#bodyPaused) return
      this.#bodyPaused = false
      const now = this.#tools.clock.now()
      this.#pace?.excuse(now - this.#pausedAt, now)
      this.#expectBody(0)
      this.#socket.resume()
    },
    bodyWanted: (): void => this.#expectBody(0),
  }

  mayKeep(): boolean {
    return !this.#stopping && !this.#closed && this.#requests < this.#tools.limits.maxRequestsPerConnection
  }

  whenDrained(done: Done): void {
    if (this.#closed) return done(new SluiceError('client_gone'))
    if (!this.#output.needsDrain) return done()
    this.#writeDeadline.set(this.#tools.limits.writeStallMs, () => this.cut())
    this.#drainWaiters.push(done)
  }

  cut(): void {
    this.#socket.destroy()
  }

  detach(): { socket: Socket; backlog: Buffer[] } {
    this.#phase = 'tunnel'
    this.#readDeadline.dispose()
    this.#writeDeadline.dispose()
    this.#input.giveUp(this.#socket)
    this.#output.giveUp()
    this.#socket.off('end', this.#onEnd)
    const backlog = this.#backlog
    this.#backlog = []
    return { socket: this.#socket, backlog }
  }

  /** Whether it is between two requests. */
  get isIdle(): boolean {
    return this.#phase === 'idle'
  }

  /** Refuses the connection before it has sent anything. */
  refuse(error: SluiceError): void {
    this.#refuse(error)
  }

  /** Closes after the current request. */
  stop(): void {
    this.#stopping = true
    if (this.#phase === 'idle') this.cut()
  }

  /** The grace is over: aborts the running request, whose handler may still tell its client. */
  abort(): void {
    if (this.#exchange) this.#exchange.abort(new SluiceError('stopping'), false)
    else this.cut()
  }

  /** What arrived in time may be unread if the loop was busy, and a cut would reset it. */
  readonly #cutIfSilent = (): void => {
    const requests = this.#requests
    afterReading(() => {
      if (this.#phase === 'idle' && this.#requests === requests) this.cut()
    })
  }

  #takeAll(arrived: Buffer | undefined): void {
    this.#isTaking = true
    try {
      if (arrived) this.#take(arrived)
      while (this.#phase === 'idle' && this.#backlog.length > 0) this.#take(this.#takeBacklog())
    } finally {
      this.#isTaking = false
    }
    if (!this.#isReadyForMore) return
    this.#isReadyForMore = false
    if (this.#socket.isPaused() && !this.#bodyPaused) this.#socket.resume()
    if (this.#stopping && this.#phase === 'idle') this.cut()
  }

  #takeBacklog(): Buffer {
    const backlog = this.#backlog
    const [first] = backlog
    this.#backlog = []
    this.#backlogBytes = 0
    return backlog.length === 1 && first ? first : Buffer.concat(backlog)
  }

  #take(chunk: Buffer): void {
    switch (this.#phase) {
      case 'idle':
      case 'head':
        return this.#readHead(chunk, 0)
      case 'exchange':
        return this.#readDuringExchange(chunk, 0)
      case 'draining':
        return this.#drain(chunk)
      case 'ending':
      case 'tunnel':
    }
  }

  #readHead(chunk: Buffer, start: number): void {
    try {
      const end = this.#reader.push(chunk, start)
      if (end >= 0) return this.#begin(this.#reader.take(), chunk, end)
    } catch (error) {
      return this.#refuse(error)
    }
    if (this.#phase === 'head') return
    this.#phase = 'head'
    const { headTimeoutMs } = this.#tools.limits
    this.#readDeadline.set(headTimeoutMs, () => {
      this.#refuse(new SluiceError('request_timeout', { seconds: headTimeoutMs / 1000 }))
    })
  }

  #begin(request: ParsedRequest, chunk: Buffer, bodyStart: number): void {
    this.#phase = 'exchange'
    this.#requests++
    this.#readDeadline.clear()
    this.#pace = undefined
    const exchange = new ClientExchange(request, this, this.#tools)
    this.#exchange = exchange
    if (bodyStart < chunk.length) this.#readDuringExchange(chunk, bodyStart)
    this.#serve(exchange)
  }

  #readDuringExchange(chunk: Buffer, start: number): void {
    const body = this.#exchange?.body
    if (!body) return
    const end = body.push(chunk, start)
    if (body.arrived) this.#readDeadline.clear()
    else if (!this.#bodyPaused) this.#expectBody(end - start)
    if (end === chunk.length || body.failed) return
    this.#backlog.push(end === 0 ? chunk : chunk.subarray(end))
    this.#backlogBytes += chunk.length - end
    // Keep reading if possible: that is how we notice that the client left.
    if (this.#backlogBytes > this.#tools.limits.maxHeadBytes) this.#socket.pause()
  }

  /**
   * Applies only while somebody waits for the body. A body that is streamed on may come slowly; one that is read here
   * has to keep the minimum rate.
   */
  #expectBody(bytes: number): void {
    const exchange = this.#exchange
    if (!exchange || exchange.body.arrived || this.#bodyPaused) return
    const { clock, limits } = this.#tools
    let msLeft = Number.POSITIVE_INFINITY
    if (exchange.bodyWasRead) {
      const now = clock.now()
      this.#pace ??= new BodyPace(limits, now)
      this.#pace.progress(bytes, now)
      msLeft = this.#pace.msLeft(now, exchange.holdsBody)
    }
    if (msLeft < limits.bodyIdleMs) this.#readDeadline.set(msLeft, this.#bodyTooSlow)
    else this.#readDeadline.set(limits.bodyIdleMs, this.#bodyStalled)
  }

  readonly #bodyStalled = (): void => {
    const seconds = this.#tools.limits.bodyIdleMs / 1000
    this.#exchange?.body.fail(new SluiceError('request_timeout', { seconds }))
  }

  readonly #bodyTooSlow = (): void => {
    const { minBodyBytesPerSecond, bodyTotalMs } = this.#tools.limits
    const reason = `at least ${minBodyBytesPerSecond} bytes/s are expected, and all of it within ${bodyTotalMs / 1000} s`
    this.#exchange?.body.fail(new SluiceError('body_too_slow', { reason }))
  }

  #serve(exchange: ClientExchange): void {
    try {
      this.#tools.handler(exchange, (failure) => {
        if (this.#exchange !== exchange) return
        if (failure === undefined) this.#handled(exchange)
        else this.#handlerFailed(exchange, failure)
      })
    } catch (error) {
      this.#handlerFailed(exchange, error)
    }
  }

  #handled(exchange: ClientExchange): void {
    if (!exchange.responseStarted && !exchange.gone) {
      return this.#handlerFailed(exchange, new Error('the handler returned without an answer'))
    }
    if (!exchange.writer.finished) this.cut()
    this.#exchangeOver(exchange)
  }

  #handlerFailed(exchange: ClientExchange, error: unknown): void {
    if (!isExpected(error)) {
      this.#tools.log.error({ err: error, path: exchange.head.path }, 'a request handler failed')
    }
    this.#answerFailure(exchange, error, () => this.#exchangeOver(exchange))
  }

  #exchangeOver(exchange: ClientExchange): void {
    this.#exchange = undefined
    if (this.#closed) return this.#tools.onFinished(this)
    if (this.#phase === 'exchange') this.#afterExchange(exchange)
  }

  #answerFailure(exchange: ClientExchange, error: unknown, answered: () => void): void {
    if (exchange.gone) return answered()
    if (exchange.responseStarted) {
      if (!exchange.writer.finished) this.cut()
      return answered()
    }
    exchange.respond(this.#lastAnswer(error), (failure) => {
      if (failure !== undefined) {
        this.#tools.log.debug({ reason: errorMessage(failure) }, 'an error answer could not be sent')
        this.cut()
      }
      answered()
    })
  }

  #afterExchange(exchange: ClientExchange): void {
    if (exchange.writer.closes || exchange.body.failed || this.#stopping) return this.#endGracefully()
    if (exchange.body.arrived) return this.#next()
    this.#phase = 'draining'
    this.#drainedBytes = 0
    this.#draining = exchange.body
    exchange.body.discard()
    this.#bodyPaused = false
    this.#readDeadline.set(this.#tools.limits.lingerMs, () => this.#endGracefully())
    this.#socket.resume()
  }

  #drain(chunk: Buffer): void {
    const body = this.#draining
    if (!body) return this.#endGracefully()
    const end = body.push(chunk, 0)
    this.#drainedBytes += end
    if (body.failed || this.#drainedBytes > this.#tools.limits.drainBytes) return this.#endGracefully()
    if (!body.arrived) return
    if (end < chunk.length) this.#backlog.push(chunk.subarray(end))
    this.#next()
  }

  /** Gets ready for the next request, which may have arrived already. */
  #next(): void {
    this.#phase = 'idle'
    this.#draining = undefined
    this.#bodyPaused = false
    this.#readDeadline.set(this.#tools.limits.keepAliveIdleMs, this.#cutIfSilent)
    this.#isReadyForMore = true
    if (!this.#isTaking) this.#takeAll(undefined)
  }

  /** Refuses input that did not become a request. */
  #refuse(error: unknown): void {
    if (this.#closed) return
    const { clock } = this.#tools
    const writer = new ResponseWriter(this.out, { method: 'GET', version: '1.1', clock, keepsConnection: () => false })
    writer.whole(this.#lastAnswer(error))
    writer.flush()
    this.#endGracefully()
  }

  /** After this, nothing else can follow on the connection. */
  #lastAnswer(error: unknown): Answer {
    const answer = this.#tools.errorAnswer(codedFailure(error))
    return { ...answer, headers: [...(answer.headers ?? []), ['connection', 'close']] }
  }

  /**
   * Ends our side and reads on for a moment: closing with unread input would reset the connection, and the client might
   * not see the answer.
   */
  #endGracefully(): void {
    this.#phase = 'ending'
    this.#backlog = []
    this.#readDeadline.clear()
    this.#writeDeadline.set(this.#tools.limits.writeStallMs, () => this.cut())
    this.#socket.end(() => {
      this.#writeDeadline.clear()
      if (this.#socket.readableEnded) this.cut()
      else if (!this.#closed) this.#readDeadline.set(this.#tools.limits.lingerMs, () => this.cut())
    })
    this.#socket.resume()
  }

  #onDrain(): void {
    this.#writeDeadline.clear()
    const waiters = this.#drainWaiters
    this.#drainWaiters = []
    for (const waiter of waiters) waiter()
  }

  /** The client ended its side. During an exchange this means that it left. */
  readonly #onEnd = (): void => {
    if (this.#phase === 'ending' && !this.#socket.writableFinished) return
    this.cut()
  }

  readonly #onClose = (): void => {
    this.#closed = true
    this.#readDeadline.dispose()
    this.#writeDeadline.dispose()
    const gone = new SluiceError('client_gone')
    const waiters = this.#drainWaiters
    this.#drainWaiters = []
    if (!this.#exchange) return this.#tools.onFinished(this)
    this.#exchange.abort(gone, true)
    for (const waiter of waiters) waiter(gone)
  }
}
