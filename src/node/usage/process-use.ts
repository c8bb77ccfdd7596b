import { readFileSync } from 'node:fs'
import { readMemory } from '../machine/machine-readings.ts'
import { readProcessStat } from '../processes/process-identity.ts'

/** What processes have used since they started, and hold now. */
export interface ProcessUse {
  readonly cpuMs: number
  readonly memoryBytes: number
}

/** The kernel's unit in `/proc`, the same on every Linux. */
const msPerTick = 10

/**
 * Sums up these processes. Children that have ended count with who waited for them. One that is gone counts nothing.
 */
export function useOfProcesses(pids: readonly number[]): ProcessUse {
  let cpuMs = 0
  let memoryBytes = 0
  for (const pid of pids) {
    // The processor time of the process and of its children that have ended, in user and kernel mode.
    const ticks = (readProcessStat(pid) ?? []).slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    cpuMs += ticks * msPerTick
    memoryBytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
  }
  return { cpuMs, memoryBytes }
}

/** What the whole machine has used since it started, and holds now of its memory. */
export function useOfMachine(): ProcessUse {
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = (
    /^cpu +(.*)$/m.exec(read('/proc/stat'))?.[1] ?? ''
  )
    .split(' ')
    .map(Number)
  const { memoryBytes, availableMemoryBytes } = readMemory()
  return {
    cpuMs: (user + nice + system + interrupts + softInterrupts + stolen) * msPerTick,
    memoryBytes: memoryBytes - availableMemoryBytes,
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The process is gone.
    return ''
  }
}
