import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Pod } from '../resources/pod.ts'
import { StatusError } from '../resources/status-error.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import { AttachedOutput } from './containers/attached-output.ts'
import { NamespaceRelay, RelayRefused } from './network/namespace-relay.ts'
import type { PodNetwork } from './network/pod-network.ts'
import { containerParts, everyContainer } from './pods/pod-parts.ts'
import type { PodLogOptions, PodLogs } from './logs/pod-logs.ts'
import { ContainerRefused, type ExecResult, type ExecStreams } from './pod-runtime.ts'
import type { ProcessRuntime } from './process-runtime.ts'
import { useOfMachine } from './usage/process-use.ts'
import { type MeasuredUsage, UsageMeter } from './usage/usage-meter.ts'

export interface NodePodAccessOptions {
  readonly logs: PodLogs
  readonly runtime: ProcessRuntime
  /** Where Pods are; without it, they are in the machine's network. */
  readonly network?: Pick<PodNetwork, 'of'> | undefined
  readonly clock: Clock
  /** Whether the node is the whole machine, so that all the machine uses is the node's. */
  readonly wholeMachine?: boolean
}

type NodeUsage = Omit<MeasuredUsage, 'machine'> & Partial<Pick<MeasuredUsage, 'machine'>>

const connectDeadlineMs = 10_000

/** What the API server needs from the node for `kubectl logs`, `exec`, `attach`, `port-forward` and `top`. */
export class NodePodAccess {
  readonly #options: NodePodAccessOptions
  readonly #relay = NamespaceRelay.find()
  readonly #meter: UsageMeter

  constructor(options: NodePodAccessOptions) {
    this.#options = options
    const { clock, runtime } = options
    this.#meter = new UsageMeter(clock, async () => ({ containers: await runtime.usage(), machine: useOfMachine() }))
  }

  async usage(): Promise<NodeUsage> {
    const { machine, ...measured } = await this.#meter.measure()
    return { ...measured, ...(this.#options.wholeMachine === true && { machine }) }
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
    // The kubelet's wording, which people search for.
    void this.#requireRunning(pod, command.container, `container not found (${JSON.stringify(command.container)})`)
    try {
      return await this.#options.runtime.exec(uidOf(pod), command.container, command.words, streams, signal)
    } catch (error) {
      if (error instanceof ContainerRefused) throw new StatusError('BadRequest', error.message)
      throw error
    }
  }

  /**
   * Connects a client to a container: shows its output from now on, and passes on what the client types. As in other
   * runtimes, the session ends with the client's input, unless the container has `stdinOnce`: then the container sees
   * that end, and the session goes on until the container ends.
   */
  async attach(pod: Pod, container: string, streams: ExecStreams, signal: AbortSignal): Promise<ExecResult> {
    const { runtime, logs } = this.#options
    const { name, namespace = '' } = pod.metadata
    const missing = `container ${container} not found in pod ${name}_${namespace}`
    const exited = this.#requireRunning(pod, container, missing)
    const { tty, stdinOnce } = wishesOf(pod, container)
    if (streams.terminal && !tty) {
      throw new StatusError('BadRequest', `container ${container} has no terminal to attach to`)
    }
    const input = streams.stdin && this.#openInput(pod, container, missing)
    if (streams.stdin && !input) {
      throw new StatusError('BadRequest', `container ${container} does not read its standard input (stdin: true)`)
    }
    const left = linkSignals(signal)
    // stdout and stderr are one stream, so that their order is kept.
    const output = new AttachedOutput(streams.stdout ?? streams.stderr)
    const unhear = await logs.hear(pod, container, (said) => output.show(said))
    if (streams.terminal) void this.#followSize(pod, container, streams.terminal, left.signal)
    const seesEnd = stdinOnce && !tty
    const typed = streams.stdin && input ? handOver(streams.stdin, input) : never()
    const hasLeft = typed.then(() => {
      if (!seesEnd) return undefined
      runtime.endInput(uidOf(pod), container)
      return never()
    })
    try {
      // By the time the end is known, all output has been shown.
      await Promise.race([exited, hasLeft, aborted(signal)])
      // Always 0: the container's exit code is in its status, while here another one would mean that attaching failed.
      return { exitCode: 0 }
    } finally {
      left.release()
      left.abort(new Error('nobody is attached any more'))
      unhear()
      if (input) streams.stdin?.unpipe(input)
      input?.destroy()
      // With `stdinOnce`, the input ends with the first client that typed.
      if (input && seesEnd) runtime.endInput(uidOf(pod), container)
    }
  }

  /** Connects to a port of the Pod. The caller ends the connection. */
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
   * Connects to the Pod's own loopback, as Kubernetes does, since some programs listen or trust clients only there.
   * `undefined` if the Pod has no network of its own, or if nobody listens there: then its address is tried.
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

  async #followSize(
    pod: Pod,
    container: string,
    sizes: NonNullable<ExecStreams['terminal']>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for await (const { columns, rows } of sizes) {
        if (signal.aborted) return
        this.#options.runtime.resizeTerminal(uidOf(pod), container, columns, rows)
      }
    } catch {
      // The client is gone. A terminal of the wrong size still works.
    }
  }

  /** If the container ended a moment ago, nobody reads the FIFO any more. */
  #openInput(pod: Pod, container: string, ended: string) {
    try {
      return this.#options.runtime.input(uidOf(pod), container)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code === 'ENXIO' || code === 'ENOENT') throw new StatusError('NotFound', ended)
      throw error
    }
  }

  #requireRunning(pod: Pod, container: string, otherwise: string) {
    if (!everyContainer(pod).some(({ name }) => name === container)) {
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

function wishesOf(pod: Pod, container: string) {
  const spec = everyContainer(pod).find(({ name }) => name === container)
  return spec ? containerParts(spec) : { tty: false, stdinOnce: false }
}

/** Resolves when all of the client's input was passed on, or the container has ended. */
function handOver(from: Readable, to: Writable): Promise<void> {
  to.on('error', () => {})
  from.pipe(to)
  return new Promise((resolve) => to.once('close', resolve))
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

function never(): Promise<never> {
  return new Promise(() => {})
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
