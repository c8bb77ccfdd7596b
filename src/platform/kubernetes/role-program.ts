import { exportControllerFigures } from '../../cluster/controller-figures.ts'
import { type KubernetesClient, connectKubernetes } from '../../cluster/kubernetes-client.ts'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { type Component, Lifecycle } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { aborted } from '../aborted.ts'
import { joinLogFile, standardOutput } from '../data/log-file.ts'
import { collectStartGarbage } from '../data/start-garbage.ts'
import { Informers } from '../informers.ts'
import { LoopBoard } from '../loop-watch/loop-board.ts'
import { LoopWatch } from '../loop-watch/loop-watch.ts'
import { version } from '../version.ts'
import { HealthListener } from './health-listener.ts'

/** What every role was asked for. */
export interface RoleOptions {
  /** Undefined finds the cluster as kubectl would, or the one that this program runs in. */
  readonly kubeconfig: string | undefined
  readonly host: string
  readonly healthPort: number
  /** A watch that brings nothing for so long is begun anew. */
  readonly watchSilenceMs?: number | undefined
  /** How long requests may take to end at a stop. */
  readonly stopGraceMs?: number | undefined
}

/** Beyond that, for everything else that a component does at a stop. */
const stopSlackMs = 15_000

/** What a role is built from. */
export interface RoleParts {
  readonly client: KubernetesClient
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly logPath: string
  readonly metrics: Metrics
  /** Where this thread shows that its loop turns. */
  readonly board: LoopBoard
  /** Adds something that starts before the caches are full. */
  readonly early: (component: Component) => void
}

export interface RunningRole {
  readonly healthPort: number
  /** Resolves when everything has stopped. */
  readonly ended: Promise<void>
}

/**
 * Runs one role of Sluice in front of a cluster that is there already. `compose` tells what it consists of, in the
 * order in which it starts; the caches that it asked for are full by then.
 */
export async function startRole(
  name: string,
  options: RoleOptions,
  compose: (parts: RoleParts) => readonly Component[] | Promise<readonly Component[]>,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<RunningRole> {
  const log = joinLogFile(standardOutput)
  const client = await connect(options)
  const metrics = new Metrics()
  metrics.includeProcess()
  exportControllerFigures(metrics)
  const board = new LoopBoard()
  const informers = new Informers({ client, clock, log })
  const lifecycle = new Lifecycle({ log, clock, stopDeadlineMs: (options.stopGraceMs ?? 0) + stopSlackMs })
  let obstacle: string | undefined = 'it is starting'
  const health = new HealthListener({
    host: options.host,
    port: options.healthPort,
    obstacle: () => obstacle,
    metrics,
    log,
  })
  const stopped = aborted(signal).then(() => {
    obstacle = 'it is stopping'
    return lifecycle.stop()
  })
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    log.fatal({ err: error, origin }, 'the program ends: nobody caught an error')
  })
  lifecycle.add({ name: 'client', stop: () => client.close() })
  lifecycle.add(new LoopWatch({ loop: 'main', clock, log, metrics, board, watchGarbage: true }))
  lifecycle.add(health)
  const early = (component: Component) => lifecycle.add(component)
  const parts = { client, informers, clock, log, logPath: standardOutput, metrics, board, early }
  const components = await compose(parts)
  lifecycle.add(informers)
  for (const component of components) lifecycle.add(component)
  log.info({ role: name, version, server: client.server, pid: process.pid }, 'starting')
  try {
    await lifecycle.start()
  } catch (error) {
    // Whoever was told to stop while starting has done so.
    if (!signal.aborted) throw error
  }
  obstacle = signal.aborted ? 'it is stopping' : undefined
  if (!signal.aborted) log.info({ role: name, healthPort: health.port }, 'ready')
  collectStartGarbage()
  return { healthPort: health.port, ended: stopped }
}

async function connect({ kubeconfig, watchSilenceMs }: RoleOptions): Promise<KubernetesClient> {
  try {
    return await connectKubernetes(kubeconfig, { watchSilenceMs })
  } catch (error) {
    throw new SluiceError('invalid_flag', { flag: '--kubeconfig', reason: errorMessage(error) }, { cause: error })
  }
}
