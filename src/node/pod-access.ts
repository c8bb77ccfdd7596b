import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Pod } from '../resources/pod.ts'
import { StatusError } from '../resources/status-error.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import { NamespaceRelay, RelayRefused } from './network/namespace-relay.ts'
import type { PodNetwork } from './network/pod-network.ts'
import { allContainers } from './pod-parts.ts'
import type { PodLogOptions, PodLogs } from './pod-logs.ts'
import { ContainerRefused, type ExecResult, type ExecStreams } from './pod-runtime.ts'
import type { ProcessRuntime } from './process-runtime.ts'

export interface NodePodAccessOptions {
  readonly logs: PodLogs
  readonly runtime: ProcessRuntime
  /** Where Pods are; without it they are in the network of the machine. */
  readonly network?: Pick<PodNetwork, 'of'> | undefined
  readonly clock: Clock
}

const connectDeadlineMs = 10_000

/** What the API server needs of the node to serve `kubectl logs, exec, attach` and `port-forward`. */
export class NodePodAccess {
  readonly #options: NodePodAccessOptions
  readonly #relay = NamespaceRelay.find()

  constructor(options: NodePodAccessOptions) {
    this.#options = options
  }

  logs(pod: Pod, options: PodLogOptions, signal: AbortSignal): AsyncIterable<Buffer> {
    return this.#options.logs.logs(pod, options, signal)
  }

  async exec(
    pod: Pod,
    command: { readonly container: string; readonly words: readonly string[] },
    streams: ExecStreams,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    if (command.words.length === 0) throw new StatusError('BadRequest', 'you must specify at least 1 command')
    // In the words of the kubelet, which people search for.
    void this.#requireRunning(pod, command.container, `container not found (${JSON.stringify(command.container)})`)
    try {
      return await this.#options.runtime.exec(uidOf(pod), command.container, command.words, streams, signal)
    } catch (error) {
      if (error instanceof ContainerRefused) throw new StatusError('BadRequest', error.message)
      throw error
    }
  }

  /** Shows what the container writes from now on, line by line, and hands it what the client types. */
  async attach(pod: Pod, container: string, streams: ExecStreams, signal: AbortSignal): Promise<ExecResult> {
    const { runtime, logs } = this.#options
    const { name, namespace = '' } = pod.metadata
    const exited = this.#requireRunning(pod, container, `container ${container} not found in pod ${name}_${namespace}`)
    if (streams.terminal) throw new StatusError('BadRequest', `container ${container} has no terminal to attach to`)
    const left = linkSignals(signal)
    const input = streams.stdin && runtime.input(uidOf(pod), container)
    if (streams.stdin && !input) {
      throw new StatusError('BadRequest', `container ${container} does not read its standard input (stdin: true)`)
    }
    const showing = this.#show(await logs.fromNow(pod, container, left.signal), streams)
    if (streams.stdin && input) {
      input.on('error', () => {})
      streams.stdin.pipe(input)
    }
    const gone = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      const exit = await Promise.race([exited, gone])
      // What it wrote last is in the log by the time its end is known.
      if (exit) await showing
      return exit ? { exitCode: exit.exitCode } : { exitCode: 0 }
    } finally {
      left.release()
      left.abort(new Error('nobody is attached any more'))
      if (input) streams.stdin?.unpipe(input)
      input?.end()
      await showing.catch(() => {})
    }
  }

  /** A connection to a port of the Pod. Whoever gets it ends it. */
  async connect(pod: Pod, port: number, signal: AbortSignal): Promise<Duplex> {
    const { clock } = this.#options
    const host = pod.status?.podIP
    if (host === undefined || pod.status?.phase !== 'Running') {
      throw new StatusError(
        'BadRequest',
        `unable to forward port because pod is not running. Current status=${pod.status?.phase}`,
      )
    }
    const deadline = linkSignals(signal)
    let isLate = false
    const cancel = clock.after(connectDeadlineMs, () => {
      isLate = true
      deadline.abort(new Error('nobody answered in time'))
    })
    try {
      return (await this.#connectInside(pod, port, deadline.signal)) ?? (await connectTo(host, port, deadline.signal))
    } catch (error) {
      const reason = isLate ? 'i/o timeout' : reasonOf(error)
      throw new StatusError(
        'ServiceUnavailable',
        `failed to connect to ${host}:${port}: dial tcp4 ${host}:${port}: connect: ${reason}`,
      )
    } finally {
      cancel()
      deadline.release()
    }
  }

  /**
   * As in Kubernetes: to the loopback of the Pod, on which also those listen, or trust whoever comes, that do not at its address.
   * Nothing where it has no network of its own, or nobody is there: what listens at its address only is reached by that.
   */
  async #connectInside(pod: Pod, port: number, signal: AbortSignal): Promise<Duplex | undefined> {
    const namespace = this.#options.network?.of(uidOf(pod))?.namespace ?? ''
    if (namespace === '' || !this.#relay) return undefined
    try {
      return await this.#relay.connect(namespace, port, signal)
    } catch (error) {
      if (error instanceof RelayRefused) return undefined
      throw error
    }
  }

  async #show(lines: AsyncIterable<Buffer>, { stdout, stderr }: ExecStreams): Promise<void> {
    // Both are one stream here: the order in which they came is worth more than where they came from.
    const target = stdout ?? stderr
    for await (const chunk of lines) {
      if (!target || target.destroyed) return
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), once(target, 'close')])
    }
  }

  #requireRunning(pod: Pod, container: string, otherwise: string) {
    if (!allContainers(pod).some(({ name }) => name === container)) {
      throw new StatusError(
        'BadRequest',
        `container ${container.slice(0, 63)} is not valid for pod ${pod.metadata.name}`,
      )
    }
    const exited = this.#options.runtime.exitOf(uidOf(pod), container)
    if (exited) return exited
    throw new StatusError('NotFound', otherwise)
  }
}

async function connectTo(host: string, port: number, signal: AbortSignal): Promise<Duplex> {
  const socket = connect({ host, port, allowHalfOpen: true })
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.on('error', () => {})
    socket.destroy()
    throw error
  }
}

function reasonOf(error: unknown): string {
  const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
  return refused ? 'connection refused' : errorMessage(error)
}

function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? ''
}
