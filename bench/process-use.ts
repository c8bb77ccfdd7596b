import { readFileSync } from 'node:fs'

/** The resident memory of a process, as the kernel counts it. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib ?? 0) * 1024
}

export const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`

const ticksPerSecond = 100

/** The processor time of a process. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) / ticksPerSecond
}
