import { z } from 'zod'

/** A thread of another process, controlled through its inspector. */
export interface InspectedThread {
  /** Runs an expression and resolves with its value. */
  evaluate(expression: string): Promise<unknown>
}

const message = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z
    .object({
      sessionId: z.string().optional(),
      message: z.string().optional(),
      workerInfo: z.object({ title: z.string() }).optional(),
    })
    .optional(),
  result: z.object({ result: z.object({ value: z.unknown().optional() }).optional() }).optional(),
})

type Answer = z.infer<typeof message>['result']

/** A connection to the inspector of another process, which must have been started with `--inspect`. */
export class Inspector implements InspectedThread {
  readonly #socket: WebSocket
  readonly #pending = new Map<string, (answer: Answer) => void>()
  readonly #workers = new Map<string, string>()
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#hear(String(data)))
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url)
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      socket.addEventListener('error', () => reject(new Error(`there is no inspector at ${url}`)))
    })
    return new Inspector(socket)
  }

  async evaluate(expression: string): Promise<unknown> {
    return (await this.#send('Runtime.evaluate', { expression, returnByValue: true }))?.result?.value
  }

  /** Runs an expression in a thread that the main one has started, found by its name. The result is not awaited. */
  async evaluateInThread(name: string, expression: string): Promise<void> {
    const [sessionId] = (await this.#threads()).find(([, title]) => title.includes(name)) ?? []
    if (sessionId === undefined) throw new Error(`no thread ${name} among ${[...this.#workers.values()].join(', ')}`)
    const told = JSON.stringify({ id: ++this.#lastId, method: 'Runtime.evaluate', params: { expression } })
    await this.#send('NodeWorker.sendMessageToWorker', { sessionId, message: told })
  }

  /**
   * Runs an expression in every thread after a garbage collection there. Returns the values by the names of the
   * threads.
   */
  async evaluateTidy(expression: string): Promise<Map<string, unknown>> {
    await this.#send('HeapProfiler.collectGarbage', {})
    const values = new Map([['main', await this.evaluate(expression)]])
    for (const [sessionId, title] of await this.#threads()) {
      await this.#sendToWorker(sessionId, 'HeapProfiler.collectGarbage', {})
      const answer = await this.#sendToWorker(sessionId, 'Runtime.evaluate', { expression, returnByValue: true })
      values.set(title, answer?.result?.value)
    }
    return values
  }

  close(): void {
    this.#socket.close()
  }

  async #threads(): Promise<ReadonlyArray<[sessionId: string, title: string]>> {
    await this.#send('NodeWorker.enable', { waitForDebuggerOnStart: false })
    return [...this.#workers]
  }

  #send(method: string, params: object): Promise<Answer> {
    return new Promise((resolve) => {
      const id = ++this.#lastId
      this.#pending.set(String(id), resolve)
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }

  async #sendToWorker(sessionId: string, method: string, params: object): Promise<Answer> {
    const id = ++this.#lastId
    const answer = new Promise<Answer>((resolve) => this.#pending.set(`${sessionId} ${id}`, resolve))
    await this.#send('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method, params }) })
    return answer
  }

  #hear(text: string, sessionId?: string): void {
    const { id, method, params, result } = message.parse(JSON.parse(text))
    if (method === 'NodeWorker.attachedToWorker') {
      this.#workers.set(params?.sessionId ?? '', params?.workerInfo?.title ?? '')
    }
    if (method === 'NodeWorker.detachedFromWorker') this.#workers.delete(params?.sessionId ?? '')
    if (method === 'NodeWorker.receivedMessageFromWorker') this.#hear(params?.message ?? '{}', params?.sessionId)
    if (id === undefined) return
    const key = sessionId === undefined ? String(id) : `${sessionId} ${id}`
    this.#pending.get(key)?.(result)
    this.#pending.delete(key)
  }
}
