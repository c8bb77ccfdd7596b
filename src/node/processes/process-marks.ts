import type { Logger } from '../../foundation/log.ts'
import { environmentEntry, processesMarkedWithAny, signalProcess } from './process-identity.ts'

/**
 * The marks every process carries in its environment: which node's it is, which Pod's, and which start of which
 * container's.
 */
const nodeMark = 'SLUICE_NODE_ID'
const podMark = 'SLUICE_POD_UID'
const containerMark = 'SLUICE_CONTAINER'
/** The mark of processes that hold a container's namespaces, or wait for a container: they were there before it. */
export const shellMark = 'SLUICE_SHELL_OF'

export function processMarks(nodeId: string, uid: string, container: string, attempt: number): Record<string, string> {
  return { [nodeMark]: nodeId, [podMark]: uid, [containerMark]: `${container}.${attempt}` }
}

/** The entries in its environment that tell the processes of one start of a container. */
export function containerMarks(uid: string, container: string, attempt: number): string[] {
  return [`${podMark}=${uid}`, `${containerMark}=${container}.${attempt}`]
}

/** Left behind by a leader that died alone, or a shell that waits for nobody: the node's, but no Pod owns it. */
export function endUnowned(
  nodeId: string,
  leaders: ReadonlySet<number>,
  isOwner: (podUid: string) => boolean,
  log: Logger,
): void {
  const marks = [nodeMark, shellMark].map((mark) => [`${mark}=${nodeId}`])
  const [members = [], shells = []] = processesMarkedWithAny(marks)
  for (const found of [...members, ...shells.filter(({ session }) => !leaders.has(session))]) {
    // By Pod, not by group: a member of an adopted Pod may have made a group of its own.
    const uid = environmentEntry(found.pid, podMark)
    if (uid !== undefined && isOwner(uid)) continue
    log.warn({ pid: found.pid, pod: uid }, 'ending a process no Pod owns')
    signalProcess(found, 'SIGKILL')
  }
}
