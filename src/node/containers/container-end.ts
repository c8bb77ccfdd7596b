import type { Clock } from '../../foundation/clock.ts'
import { wasOutOfMemory } from '../isolation/cgroups.ts'
import type { LogCollector } from '../logs/log-collector.ts'
import type { ContainerRecord } from '../pods/pod-records.ts'
import type { ContainerExit } from '../pod-runtime.ts'
import { saysAddressInUse, withPortExplanation } from '../network/port-explanation.ts'
import { endOfLog, terminationMessage } from './termination-message.ts'

/** How long the news of a container's end may wait for its last output. */
const logDeadlineMs = 10_000

/**
 * Waits until the container's output is in its log, but not forever: a disk that does not answer must not hide that the
 * container has ended.
 */
export async function collectEnd(collector: LogCollector, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(logDeadlineMs, late.resolve)
  await Promise.race([collector.finish(), late.promise])
  cancel()
}

/** Adds the termination message to the exit, and whether the container was killed for lack of memory. */
export async function withLastWords(exit: ContainerExit, record: ContainerRecord, log: string): Promise<ContainerExit> {
  const source = { file: record.messageFile, fallsBackToLog: record.messageFromLog }
  const words = (await terminationMessage(source, log, exit.exitCode)) ?? exit.message
  const sharesPorts = record.network === '' && exit.exitCode !== 0
  const message = sharesPorts && saysAddressInUse(await endOfLog(log)) ? withPortExplanation(words) : words
  const reason = exit.exitCode === 137 && wasOutOfMemory(record.cgroups) ? 'OOMKilled' : exit.reason
  return { ...exit, reason, ...(message !== undefined && { message }) }
}
