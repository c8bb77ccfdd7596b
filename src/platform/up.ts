import { type Clock, systemClock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import { Lifecycle } from '../foundation/lifecycle.ts'
import { detectCards } from '../node/cards/gpu-inventory.ts'
import { programRunner } from '../node/processes/run-program.ts'
import { aborted } from './aborted.ts'
import { checkHost } from './addresses/check-host.ts'
import { readConfigFile } from './data/config-file.ts'
import { DataDirectory } from './data/data-directory.ts'
import { openLogFile } from './data/log-file.ts'
import { collectStartGarbage } from './data/start-garbage.ts'
import { StartRecord, crashesBeforeSafeMode } from './data/start-record.ts'
import { compileEngine } from './models/compiled-engine.ts'
import { safeModeNotes } from './safe-mode.ts'
import { startPlatform } from './up/start-platform.ts'
import type { UpFacts } from './up/up-facts.ts'
import type { UpOptions } from './up-options.ts'
import { version } from './version.ts'

export type { UpFacts } from './up/up-facts.ts'

export interface RunningPlatform {
  readonly facts: UpFacts
  /** Resolves when everything has stopped. */
  readonly ended: Promise<void>
}

/** Starts a whole cluster in this process, as `sluice up` does. Stops everything when the signal is aborted. */
export async function startUp(
  asked: UpOptions,
  signal: AbortSignal,
  /** Told, in sentences, what somebody who looks on should know while it runs. */
  tell: (message: string) => void = () => {},
  clock: Clock = systemClock,
): Promise<RunningPlatform> {
  const config = await readConfigFile(asked.config)
  // In a network namespace of its own, this program listens at sockets that it has been given.
  if (!asked.userNetwork || 'reason' in asked.userNetwork) await checkHost(asked.host)
  const notes: string[] = []
  const problem = (message: string) => void notes.push(message)
  const detection = { run: programRunner(clock, cardDeadlineMs), signal, problem }
  const cards = await detectCards(asked.gpus, asked.nodes ?? 1, detection)
  if (asked.gateway && cards.length === 0) throw new SluiceError('gateway_needs_card')
  const directory = DataDirectory.open(asked.data)
  // This file exists only while everything runs, so that whoever finds it can rely on it. A crash may have left one.
  directory.remove('endpoints.json')
  const log = openLogFile(directory.path('logs', 'sluice.log'))
  const starts = new StartRecord(directory, clock, version)
  const isSafe = asked.safeMode ?? starts.crashes >= crashesBeforeSafeMode
  if (isSafe) notes.push(...safeModeNotes({ directory, crashes: starts.crashes, now: clock.now(), log }))
  const options = isSafe ? { ...asked, gateway: false, demoModel: false } : asked
  const lifecycle = new Lifecycle({ log, clock })
  lifecycle.add({ name: 'data directory', stop: () => directory.close() })
  lifecycle.add({ name: starts.name, stop: () => starts.stop() })
  const stopped = aborted(signal).then(() => lifecycle.stop())
  // Only logs the error: Node then ends this process as usual. The Pods go on, and the next start adopts them.
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    log.fatal({ err: error, origin }, 'sluice ends: nobody caught an error')
  })
  try {
    const parts = { directory, cards, config, notes, tell, lifecycle, clock, log: log.child({}) }
    const facts = await startPlatform({ ...options, startsPods: !isSafe }, parts)
    starts.start()
    log.info({ pid: process.pid, clusterId: facts.endpoints.clusterId }, 'sluice is up')
    collectStartGarbage()
    if (!isSafe) void compileEngine(log, signal)
    return { facts, ended: stopped }
  } catch (error) {
    await lifecycle.stop()
    throw error
  }
}

/** How long the machine may take to list its cards. */
const cardDeadlineMs = 15_000
