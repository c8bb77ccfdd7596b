import type { Clock } from '../../../foundation/clock.ts'
import { SluiceError } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { StatusError } from '../../../resources/status-error.ts'
import type { ChangedObject, ConsoleChange, ConsoleWorld } from '../console-world.ts'
import type { ConsoleRequest } from '../console-routes.ts'

/** Makes changes in the cluster for somebody, and writes down who has made which. */
export class Changes {
  readonly #world: Pick<ConsoleWorld, 'readOnly' | 'audit'>
  readonly #clock: Clock
  readonly #log: Logger

  constructor(world: Pick<ConsoleWorld, 'readOnly' | 'audit'>, clock: Clock, log: Logger) {
    this.#world = world
    this.#clock = clock
    this.#log = log
  }

  async make<T>(
    asked: ConsoleRequest,
    verb: ConsoleChange['verb'],
    object: ChangedObject,
    change: () => Promise<T>,
  ): Promise<T> {
    const { readOnly } = this.#world
    if (readOnly !== undefined) throw new SluiceError('console_action_unavailable', { reason: readOnly })
    const startedAt = this.#clock.now()
    try {
      const result = await change()
      this.#record(asked, verb, object, startedAt, verb === 'create' ? 201 : 200)
      return result
    } catch (error) {
      this.#record(asked, verb, object, startedAt, error instanceof StatusError ? error.code : 500)
      throw error
    }
  }

  #record(
    { user, request }: ConsoleRequest,
    verb: ConsoleChange['verb'],
    object: ChangedObject,
    startedAt: number,
    status: number,
  ): void {
    const source = request.socket.remoteAddress ?? ''
    const userAgent = request.headers['user-agent']?.slice(0, 256)
    this.#log.info({ key: user.name, source, verb, ...object, status }, 'a change by the console')
    this.#world.audit?.({ key: user.name, source, userAgent, verb, object, status, startedAt })
  }
}
