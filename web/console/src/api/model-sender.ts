import type { UploadView } from '../../../../src/management/console/console-shapes.ts'
import type { ConsoleApi } from './console-api.ts'
import { PieceSize } from './piece-size.ts'
import { Refusal } from './refusal.ts'

const firstPauseMs = 500
const longestPauseMs = 8_000
/** The server gives up soon after. */
const patienceMs = 100_000

/** What the server has forgotten or refused, it will not take however often it is asked. */
const finalStatuses = new Set([400, 401, 403, 404, 413, 501])

/**
 * Sends the files of models in pieces, one after the other. When the connection breaks, it asks what has arrived and
 * goes on from there.
 */
export class ModelSender {
  readonly #api: ConsoleApi
  readonly #sending = new Set<string>()

  constructor(api: ConsoleApi) {
    this.#api = api
    window.addEventListener('beforeunload', (event) => {
      // The browser then asks whether to leave: what is being sent would be lost.
      if (this.#sending.size > 0) event.preventDefault()
    })
  }

  /** Resolves once the server has taken the order; the files follow, and the live stream tells how far they are. */
  async send(model: Readonly<Record<string, unknown>>, files: readonly File[]): Promise<void> {
    const announced = files.map(({ name, size }) => ({ name, bytes: size }))
    const { model: name } = await this.#api.ask<UploadView>('uploads', {
      method: 'POST',
      body: { ...model, files: announced },
    })
    this.#sending.add(name)
    void this.#sendAll(name, files).finally(() => this.#sending.delete(name))
  }

  async #sendAll(model: string, files: readonly File[]): Promise<void> {
    const size = new PieceSize()
    try {
      for (const file of files) await this.#sendFile(model, file, size)
    } catch (error) {
      // The server has told everybody why it stopped; of what happened here it does not know.
      if (error instanceof Refusal && error.status !== 0) return
      await this.#api.ask(`pulls/${encodeURIComponent(model)}`, { method: 'DELETE' }).catch(() => {})
    }
  }

  async #sendFile(model: string, file: File, size: PieceSize): Promise<void> {
    const path = `uploads/${encodeURIComponent(model)}`
    let at = 0
    let pauseMs = firstPauseMs
    let movedAt = Date.now()
    while (at < file.size) {
      const piece = file.slice(at, at + size.bytes)
      try {
        const begunAt = Date.now()
        await this.#api.ask(`${path}/${encodeURIComponent(file.name)}?at=${at}`, { method: 'PUT', bytes: piece })
        at += piece.size
        movedAt = Date.now()
        size.took(movedAt - begunAt)
        pauseMs = firstPauseMs
      } catch (error) {
        if (!(error instanceof Refusal) || finalStatuses.has(error.status)) throw error
        if (Date.now() - movedAt > patienceMs) throw error
        size.failed()
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
        at = await this.#arrived(path, file.name, at)
      }
    }
  }

  async #arrived(path: string, file: string, otherwise: number): Promise<number> {
    try {
      return (await this.#api.ask<UploadView>(path)).received[file] ?? otherwise
    } catch (error) {
      if (error instanceof Refusal && finalStatuses.has(error.status)) throw error
      return otherwise
    }
  }
}
