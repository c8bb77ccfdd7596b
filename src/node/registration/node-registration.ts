import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Node, nodeKind } from '../../resources/node.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { withDeadline } from '../processes/with-deadline.ts'
import { type MachineFacts, type NodeReadings, nodeLabels, nodeStatus } from './node-object.ts'

export interface NodeRegistrationOptions {
  readonly client: ClusterClient
  readonly clock: Clock
  readonly log: Logger
  readonly facts: MachineFacts
  readings(): NodeReadings
}

const heartbeatMs = 30_000
const deadlineMs = 10_000

/** Keeps this machine's Node object up to date. */
export class NodeRegistration {
  readonly #options: NodeRegistrationOptions
  #wake: () => void = () => {}

  constructor(options: NodeRegistrationOptions) {
    this.#options = options
  }

  /** Writes the Node's current state; creates it if it does not exist. */
  async report(ready: boolean, signal?: AbortSignal): Promise<void> {
    const { client, clock, facts } = this.#options
    const ref = { name: facts.name }
    const labels = nodeLabels(facts)
    let node = await client.get(nodeKind, ref, signal)
    try {
      node ??= await client.create(nodeKind, { metadata: { ...ref, labels }, spec: {} }, signal)
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
      node = await client.get(nodeKind, ref, signal)
    }
    if (!node) return
    const current = node.metadata.labels ?? {}
    if (Object.entries(labels).some(([key, value]) => current[key] !== value)) {
      node = await client.patch(nodeKind, ref, { metadata: { labels } }, signal)
    }
    const readings = this.#options.readings()
    const reported = (now: Node): Node => ({
      ...now,
      status: nodeStatus(facts, ready, readings, now.status, clock.now()),
    })
    await client.changeStatus(nodeKind, ref, reported, signal)
  }

  /** Reports before the next heartbeat is due. */
  reportSoon(): void {
    this.#wake()
  }

  /** Reports periodically until the signal is aborted. */
  async heartbeat(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        clock.sleep(heartbeatMs, signal).then(resolve, () => resolve())
      })
      if (signal.aborted) return
      const limit = { clock, ms: deadlineMs, message: 'the heartbeat took too long' }
      await withDeadline(limit, signal, (deadline) => this.report(true, deadline)).catch((error: unknown) => {
        log.warn({ err: error }, 'the node could not report')
      })
    }
  }
}
