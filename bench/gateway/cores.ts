import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Lists of cores, as `taskset -c` takes them. */
export interface Cores {
  readonly gateway: string
  readonly stub: string
  readonly load: string
}

/**
 * Gives the gateway a core to itself. The stub and the load get one each if there are enough, and otherwise share one.
 */
export function shareCores(usable: readonly number[]): Cores {
  const [gateway = 0, stub = gateway, ...others] = usable
  const load = others.length > 0 ? others : [stub]
  return { gateway: String(gateway), stub: String(stub), load: load.join(',') }
}

/** The cores that this program may use. In a container they are not always 0, 1, 2, …. */
export function usableCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** Moves this program to these cores, since it is part of the load where it measures latency and streams. */
export function moveHere(cores: string): void {
  spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)])
}
