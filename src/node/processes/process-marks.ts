import type { Logger } from '../../foundation/log.ts'
import { environmentEntry, processesMarkedWithAny, signalProcess } from './process-identity.ts'

/** Environment variables that mark every process with its node, its Pod, and its container's start. */
const nodeMark = 'SLUICE_NODE_ID'
const podMark = 'SLUICE_POD_UID'
const containerMark = 'SLUICE_CONTAINER'
/** Marks shells that wait for a container or hold its namespaces: they exist before the container is known. */
export const shellMark = 'SLUICE_SHELL_OF'

export function processMarks(nodeId: string, uid: string, container: string, attempt: number): Record<string, string> {
  return { [nodeMark]: nodeId, [podMark]: uid, [containerMark]: `${container}.${attempt}` }
}

/** The environment entries of all processes of one start of a container. */
export function containerMarks(uid: string, container: string, attempt: number): string[] {
  return [`${podMark}=${uid}`, `${containerMark}=${container}.${attempt}`]
}

/**
 * Ends this node's processes that belong to no Pod: left by a leader that died alone, or shells waiting for a program
 * that is gone.
 */
export function endUnowned(
  nodeId: string,
  leaders: ReadonlySet<number>,
  isOwner: (podUid: string) => boolean,
  log: Logger,
): void {
  const marks = [nodeMark, shellMark].map((mark) => [`${mark}=${nodeId}`])
  const [members = [], shells = []] = processesMarkedWithAny(marks)
  for (const found of [...members, ...shells.filter(({ session }) => !leaders.has(session))]) {
    // By Pod rather than process group: a process of an adopted Pod may have made its own group.
    const uid = environmentEntry(found.pid, podMark)
    if (uid !== undefined && isOwner(uid)) continue
    log.warn({ pid: found.pid, pod: uid }, 'ending a process no Pod owns')
    signalProcess(found, 'SIGKILL')
  }
}
