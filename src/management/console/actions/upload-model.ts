import { z } from 'zod'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { SluiceError } from '../../../foundation/errors.ts'
import type { UploadView } from '../console-shapes.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import type { ConsoleWorld, ModelUpload } from '../console-world.ts'
import { jsonBody } from '../request-body.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import { type ModelMaker, type NewModel, newModelFields } from './new-model.ts'

/** After so long without a byte, whoever sent has left. */
const patienceMs = 120_000
const mostFiles = 1_000

const fileName = z
  .string()
  .max(255)
  .regex(/^[\w][\w.+ -]*$/, 'must be a plain file name')
const uploadedModel = z.object({
  ...newModelFields,
  files: z
    .array(z.object({ name: fileName, bytes: z.int().min(0) }))
    .min(1, 'must be at least one')
    .max(mostFiles)
    .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, 'must have different names')
    .refine((files) => files.some(({ bytes }) => bytes > 0), 'are empty'),
})

/**
 * Takes models from the machine of whoever asks. Files come in pieces, one after the other, so that a connection that
 * breaks costs no more than one of them; with the last byte the Model is made.
 */
export class UploadModel {
  readonly #world: ConsoleWorld
  readonly #maker: ModelMaker
  readonly #arrivals: Arrivals
  readonly #clock: Clock
  readonly #uploads = new Map<string, Upload>()

  constructor(world: ConsoleWorld, maker: ModelMaker, arrivals: Arrivals, clock: Clock) {
    this.#world = world
    this.#maker = maker
    this.#arrivals = arrivals
    this.#clock = clock
  }

  get routes(): readonly ConsoleRoute[] {
    return [
      { method: 'POST', pattern: 'uploads', run: (asked) => this.#begin(asked) },
      { method: 'GET', pattern: 'uploads/:model', run: (asked) => this.#found(asked).view },
      { method: 'PUT', pattern: 'uploads/:model/:file', run: (asked) => this.#found(asked).take(asked) },
    ]
  }

  async #begin(asked: ConsoleRequest): Promise<UploadView> {
    const { uploads, readOnly } = this.#world
    if (readOnly !== undefined || !uploads) {
      throw new SluiceError('console_action_unavailable', { reason: readOnly ?? 'it keeps no files of models' })
    }
    const { files, ...model } = await jsonBody(asked.request, uploadedModel)
    const { name } = model
    await this.#maker.rehearse(model, asked.signal)
    this.#arrivals.require(name)
    const received = await uploads.begin(name, files)
    let arrival: Arrival
    try {
      arrival = this.#arrivals.begin(name, sourceOf(files), 'uploaded')
    } catch (error) {
      await received.discard()
      throw error
    }
    const upload = new Upload({ received, arrival, model, maker: this.#maker, clock: this.#clock })
    upload.onOver = () => this.#uploads.delete(name)
    this.#uploads.set(name, upload)
    return upload.view
  }

  #found(asked: ConsoleRequest): Upload {
    const name = asked.param('model')
    const upload = this.#uploads.get(name)
    if (!upload) throw new SluiceError('console_object_missing', { what: 'upload', name })
    return upload
  }
}

function sourceOf(files: ReadonlyArray<{ readonly name: string }>): string {
  const first = files[0]?.name ?? ''
  return files.length === 1 ? first : `${first} and ${files.length - 1} more`
}

interface UploadParts {
  readonly received: ModelUpload
  readonly arrival: Arrival
  readonly model: NewModel
  readonly maker: ModelMaker
  readonly clock: Clock
}

/** One model that is being sent. */
class Upload {
  readonly #parts: UploadParts
  #isTaking = false
  #cancelPatience: CancelTimer = () => {}
  #over: Promise<void> | undefined
  onOver: () => void = () => {}

  constructor(parts: UploadParts) {
    this.#parts = parts
    const { arrival } = parts
    arrival.signal.addEventListener('abort', () => void this.#fail(arrival.signal.reason), { once: true })
    this.#show()
    this.#wait()
  }

  get view(): UploadView {
    return { model: this.#parts.model.name, received: Object.fromEntries(this.#parts.received.received()) }
  }

  /** The next bytes of a file. */
  async take(asked: ConsoleRequest): Promise<UploadView> {
    const { received, arrival } = this.#parts
    if (this.#isTaking) throw new SluiceError('console_arrivals', { reason: 'another piece of it is being taken' })
    const at = Number(asked.query.get('at') ?? '0')
    this.#isTaking = true
    this.#cancelPatience()
    try {
      await received.write(asked.param('file'), at, asked.request, AbortSignal.any([arrival.signal, asked.signal]))
      this.#show()
      if (received.isWhole()) await this.#finish(asked)
      return this.view
    } catch (error) {
      // What was sent can never become a model: there is no use in going on.
      if (error instanceof SluiceError && error.code === 'model_not_taken') await this.#fail(error)
      throw error
    } finally {
      this.#isTaking = false
      if (!this.#over) this.#wait()
    }
  }

  async #finish(asked: ConsoleRequest): Promise<void> {
    const { received, arrival, model, maker } = this.#parts
    try {
      // Goes on if the client leaves now: it has sent everything.
      await maker.create(asked, model, await received.finish(), arrival.signal)
    } catch (error) {
      await this.#fail(error)
      throw error
    }
    this.#over = Promise.resolve()
    arrival.done()
    this.onOver()
  }

  #fail(error: unknown): Promise<void> {
    this.#over ??= this.#discard(error)
    return this.#over
  }

  async #discard(error: unknown): Promise<void> {
    this.#cancelPatience()
    this.#parts.arrival.failed(error)
    this.onOver()
    await this.#parts.received.discard()
  }

  #show(): void {
    const { received, arrival } = this.#parts
    const bytes = [...received.received().values()].reduce((sum, some) => sum + some, 0)
    arrival.progress(bytes, received.totalBytes)
  }

  #wait(): void {
    const { clock } = this.#parts
    this.#cancelPatience = clock.after(patienceMs, () => {
      void this.#fail(new SluiceError('upload_given_up', { seconds: patienceMs / 1000 }))
    })
  }
}
