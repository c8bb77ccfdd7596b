import { closeSync, openSync, readSync } from 'node:fs'
import type { CoreUse } from './step-threads.ts'

const file = '/proc/stat'
/** The first line has ten numbers of at most 20 digits. */
const lineBytes = 256
/** In hundredths of a second, on every Linux. */
const tickMs = 10

/** Undefined where there is no such file. */
export function readCoreUse(): CoreUse | undefined {
  const idleMs = idleMsIn(firstLine())
  if (idleMs === undefined) return undefined
  const { user, system } = process.cpuUsage()
  return { atMs: performance.now(), idleMs, ownMs: (user + system) / 1000 }
}

/** `cpu  USER NICE SYSTEM IDLE IOWAIT …`, of all cores together. */
export function idleMsIn(line: string): number | undefined {
  const [, idle, waiting] = /^cpu +\d+ \d+ \d+ (\d+) (\d+) /.exec(line) ?? []
  return idle === undefined || waiting === undefined ? undefined : (Number(idle) + Number(waiting)) * tickMs
}

function firstLine(): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const bytes = Buffer.alloc(lineBytes)
    return bytes.toString('latin1', 0, readSync(descriptor, bytes))
  } catch {
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
