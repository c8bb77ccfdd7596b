import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { addressAt, parseRange, placeIn } from '../../src/resources/address-range.ts'
import { leftInNetwork } from '../../tests/support/leftover-network.ts'
import { podProcesses } from '../../tests/support/sluice-process.ts'

/** How many networks are kept ready for new Pods. */
const spares = 2
const shown = 20

/** What is left on the machine of Pods that are gone, while Sluice runs without Pods. */
export function leftOfPods(data: string, uids: ReadonlySet<string>): string[] {
  const namespaces = leftInNetwork(data).filter((name) => /^sluice-[0-9a-f]+-\d+$/.test(name))
  const cables = leftInNetwork(data).filter((name) => /^s[0-9a-f]+-\d+$/.test(name))
  return [
    ...podProcesses(data)
      .filter((pid) => uids.has(podOf(pid)))
      .map((pid) => `process ${pid}: ${commandOf(pid)}`),
    ...(namespaces.length > spares ? [`${namespaces.length} network namespaces`] : []),
    ...(cables.length > spares ? [`${cables.length} cables`] : []),
    ...addressesInRules(data).map((address) => `${address} in the rules`),
    ...mountsOf(uids, ''),
    ...pathsOf(data, uids),
    ...pathsOf('/sys/fs/cgroup', uids),
    ...pathsOf('/dev/shm', uids),
  ].slice(0, shown)
}

/** What is left of a Sluice that has ended, and of its Pods. */
export function leftOfSluice(data: string, uids: ReadonlySet<string>): string[] {
  const processes = podProcesses(data).map((pid) => `process ${pid}: ${commandOf(pid)}`)
  return [...processes, ...leftInNetwork(data), ...mountsOf(uids, data), ...pathsOf('/sys/fs/cgroup', uids)].slice(
    0,
    shown,
  )
}

/** Addresses of Pods that are still in the packet filter. */
function addressesInRules(data: string): string[] {
  const id = textOf(join(data, 'node/id')).trim().replaceAll('-', '').slice(0, 8)
  const written = textOf(join(data, 'node/network.json')).matchAll(/"pods":"([^"]*)"/g)
  const ranges = [...written].flatMap(([, text]) => parseRange(text ?? '') ?? [])
  const { stdout } = spawnSync('nft', ['list', 'table', 'inet', `sluice_${id}`], { encoding: 'utf8' })
  const machine = ranges.map((range) => addressAt(range, 1))
  const addresses = stdout.match(/\b\d+\.\d+\.\d+\.\d+(?!\/)\b|\bfd[0-9a-f:]+(?![0-9a-f:/])/g) ?? []
  return [...new Set(addresses)].filter(
    (one) => !machine.includes(one) && ranges.some((range) => (placeIn(range, one) ?? 0) > 0),
  )
}

function mountsOf(uids: ReadonlySet<string>, data: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => (data !== '' && line.includes(data)) || idsIn(line).some((id) => uids.has(id)))
    .map((line) => `mount ${line}`)
}

/** Files and folders that are named after one of the Pods. */
function pathsOf(folder: string, uids: ReadonlySet<string>): string[] {
  const found: string[] = []
  const look = (path: string, depth: number) => {
    for (const entry of entriesOf(path)) {
      const inside = join(path, entry.name)
      if (idsIn(entry.name).some((id) => uids.has(id))) found.push(inside)
      else if (entry.isDirectory() && depth < 6) look(inside, depth + 1)
    }
  }
  look(folder, 0)
  return found
}

function idsIn(text: string): readonly string[] {
  return text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}

function podOf(pid: number): string {
  return /SLUICE_POD_UID=([^\0]*)/.exec(textOf(`/proc/${pid}/environ`))?.[1] ?? ''
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 100)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
