/** A thread of another process, told what to do through its inspector. */
export interface InspectedThread {
  /** Runs an expression; resolves when it is done. */
  evaluate(expression: string): Promise<void>
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly workerInfo?: { readonly title?: string } }
}

/** The other process must have been started with `--inspect`. */
export class Inspector implements InspectedThread {
  readonly #socket: WebSocket
  readonly #pending = new Map<number, () => void>()
  readonly #workers = new Map<string, string>()
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#hear(JSON.parse(String(data)) as Message))
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url)
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      socket.addEventListener('error', () => reject(new Error(`there is no inspector at ${url}`)))
    })
    return new Inspector(socket)
  }

  async evaluate(expression: string): Promise<void> {
    await this.#send('Runtime.evaluate', { expression })
  }

  /** For a thread that was started by the main one, by its name; it is not waited for. */
  async evaluateInThread(name: string, expression: string): Promise<void> {
    await this.#send('NodeWorker.enable', { waitForDebuggerOnStart: false })
    const sessionId = [...this.#workers].find(([, title]) => title.includes(name))?.[0]
    if (sessionId === undefined) throw new Error(`no thread ${name} among ${[...this.#workers.values()].join(', ')}`)
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } })
    await this.#send('NodeWorker.sendMessageToWorker', { sessionId, message })
  }

  close(): void {
    this.#socket.close()
  }

  #send(method: string, params: object): Promise<void> {
    return new Promise((resolve) => {
      const id = ++this.#lastId
      this.#pending.set(id, resolve)
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }

  #hear({ id, method, params }: Message): void {
    if (method === 'NodeWorker.attachedToWorker') {
      this.#workers.set(params?.sessionId ?? '', params?.workerInfo?.title ?? '')
    }
    if (id === undefined) return
    this.#pending.get(id)?.()
    this.#pending.delete(id)
  }
}
