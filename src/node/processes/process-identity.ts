import { readFileSync, readdirSync } from 'node:fs'

/** Pids are reused; together with its start time, a pid identifies one process of this boot. */
export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since boot (`/proc/<pid>/stat`, field 22). */
  readonly startTime: string
}

export interface ProcessFacts extends ProcessIdentity {
  readonly state: string
  readonly group: number
  readonly session: number
}

/** What the kernel says about a process; `undefined` if it does not exist (or there is no /proc). */
export function readProcess(pid: number): ProcessFacts | undefined {
  const fields = readProcessStat(pid)
  const [state, , group, session] = fields ?? []
  const startTime = fields?.[19]
  if (state === undefined || group === undefined || startTime === undefined) return undefined
  return { pid, state, group: Number(group), session: Number(session), startTime }
}

/** The fields of `/proc/<pid>/stat` from the third (the state) on. */
export function readProcessStat(pid: number): string[] | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  // The command name is in parentheses, and may itself contain spaces and parentheses.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Whether this very process still runs. Zombies count as gone, since nobody may ever reap them. */
export function isAlive(identity: ProcessIdentity): boolean {
  const facts = readProcess(identity.pid)
  return facts !== undefined && facts.startTime === identity.startTime && facts.state !== 'Z' && facts.state !== 'X'
}

/** Signals the process, if it is still the same one. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(identity) && sendSignal(identity.pid, signal)
}

/** Signals the whole group that the process leads, if it is still the same one. */
export function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): boolean {
  const facts = readProcess(leader.pid)
  if (facts?.startTime !== leader.startTime || facts.group !== leader.pid) return false
  return sendSignal(-leader.pid, signal)
}

/** Processes with all of these environment entries, which descendants inherit. */
export function processesMarked(...entries: readonly string[]): ProcessFacts[] {
  return processesMarkedWithAny([entries])[0] ?? []
}

/** The same for several sets of entries in one pass. */
export function processesMarkedWithAny(sets: ReadonlyArray<readonly string[]>): ProcessFacts[][] {
  const look = lookForMarks(sets)
  for (;;) {
    const { done, value } = look.next()
    if (done === true) return value
  }
}

/** How many bytes and processes are looked at before others have their turn. */
const bytesPerTurn = 2 ** 20
const processesPerTurn = 200

/** The same in slices. One pass over the processes serves all sets. */
export function* lookForMarks(sets: ReadonlyArray<readonly string[]>): Generator<undefined, ProcessFacts[][]> {
  const found: ProcessFacts[][] = sets.map(() => [])
  const byFirst = Map.groupBy(sets.keys(), (index) => sets[index]?.[0] ?? '')
  let bytes = 0
  for (const [count, pid] of listPids().entries()) {
    if (bytes > bytesPerTurn || (count > 0 && count % processesPerTurn === 0)) {
      bytes = 0
      yield undefined
    }
    const text = readText(`/proc/${pid}/environ`)
    if (text === undefined) continue
    bytes += text.length
    const entries = new Set(text.split('\0'))
    for (const entry of entries) {
      for (const index of byFirst.get(entry) ?? []) {
        if (sets[index]?.every((wanted) => entries.has(wanted)) !== true) continue
        const facts = readProcess(pid)
        if (facts && isAlive(facts)) found[index]?.push(facts)
      }
    }
  }
  return found
}

export function environmentEntry(pid: number, name: string): string | undefined {
  const entry = readText(`/proc/${pid}/environ`)
    ?.split('\0')
    .find((text) => text.startsWith(`${name}=`))
  return entry?.slice(name.length + 1)
}

/** Changes with every boot; pids and start times are only valid within one. */
export function readBootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

/** The variables a process was started with. */
export function environmentOf(pid: number): Record<string, string> {
  const entries = readText(`/proc/${pid}/environ`)?.split('\0') ?? []
  return Object.fromEntries(
    entries.flatMap((entry) => {
      const equals = entry.indexOf('=')
      return equals > 0 ? [[entry.slice(0, equals), entry.slice(equals + 1)]] : []
    }),
  )
}

/** A process's children; none if the kernel does not tell. */
export function childrenOf(pid: number): number[] {
  const text = readText(`/proc/${pid}/task/${pid}/children`)?.trim() ?? ''
  return text === '' ? [] : text.split(' ').map(Number)
}

function listPids(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
  } catch {
    return []
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process is gone, or another user's.
    return undefined
  }
}

/** Signals a process, or a group if negative, that is known to be ours. `false` if it does not exist. */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal)
  } catch {
    return false
  }
}
