import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CgroupPlace, Controller } from './cgroup-places.ts'
import { namesInFolder } from '../names-in-folder.ts'

const periodMicroseconds = 100_000
type Version = CgroupPlace['version']

/** Limits the group of one container. */
export function limitContainer(folder: string, version: Version, controller: Controller, value: number): void {
  if (controller === 'memory') limitMemory(folder, version, value)
  else if (controller === 'cpu') limitCpu(folder, version, value)
  else writeFileSync(join(folder, 'pids.max'), String(value))
  // Kills the container as a whole: half of it would only look alive.
  if (controller === 'memory' && version === 'v2') writeIfThere(join(folder, 'memory.oom.group'), '1')
}

/** Limits a group that has those of containers in it, or takes the limit off. */
export function limitParent(folder: string, version: Version, controller: Controller, value: number | undefined): void {
  if (controller === 'memory') limitParentMemory(folder, version, value)
  else if (controller === 'cpu') limitParentCpu(folder, version, value)
  else writeFileSync(join(folder, 'pids.max'), String(value ?? 'max'))
}

function limitMemory(folder: string, version: Version, bytes: number): void {
  const value = String(Math.floor(bytes))
  if (version === 'v1') {
    writeFileSync(join(folder, 'memory.limit_in_bytes'), value)
    writeIfThere(join(folder, 'memory.memsw.limit_in_bytes'), value)
    return
  }
  writeFileSync(join(folder, 'memory.max'), value)
  writeIfThere(join(folder, 'memory.swap.max'), '0')
}

function limitParentMemory(folder: string, version: Version, bytes: number | undefined): void {
  if (version === 'v1') {
    const value = String(bytes === undefined ? -1 : Math.floor(bytes))
    // Kernels before 5.11 count what is below only where they are told to.
    writeIfThere(join(folder, 'memory.use_hierarchy'), '1')
    // The sum with swap must never be the smaller one: it goes first where the limit rises, and last where it falls.
    writeIfThere(join(folder, 'memory.memsw.limit_in_bytes'), value)
    writeFileSync(join(folder, 'memory.limit_in_bytes'), value)
    writeIfThere(join(folder, 'memory.memsw.limit_in_bytes'), value)
    return
  }
  writeFileSync(join(folder, 'memory.max'), bytes === undefined ? 'max' : String(Math.floor(bytes)))
  writeIfThere(join(folder, 'memory.swap.max'), bytes === undefined ? 'max' : '0')
}

function limitCpu(folder: string, version: Version, cpus: number): void {
  const quota = String(quotaOf(cpus))
  if (version === 'v2') return writeFileSync(join(folder, 'cpu.max'), `${quota} ${periodMicroseconds}`)
  writeFileSync(join(folder, 'cpu.cfs_period_us'), String(periodMicroseconds))
  writeFileSync(join(folder, 'cpu.cfs_quota_us'), quota)
}

function limitParentCpu(folder: string, version: Version, cpus: number | undefined): void {
  if (cpus === undefined) {
    if (version === 'v2') writeFileSync(join(folder, 'cpu.max'), `max ${periodMicroseconds}`)
    else writeFileSync(join(folder, 'cpu.cfs_quota_us'), '-1')
    return
  }
  if (version === 'v1') lowerGroupsIn(folder, quotaOf(cpus))
  limitCpu(folder, version, cpus)
}

/** The old hierarchy refuses a group less than one in it has. */
function lowerGroupsIn(folder: string, quota: number): void {
  for (const name of namesInFolder(folder)) {
    const file = join(folder, name, 'cpu.cfs_quota_us')
    if (existsSync(file) && Number(readFileSync(file, 'latin1')) > quota) writeIfThere(file, String(quota))
  }
}

function quotaOf(cpus: number): number {
  return Math.max(1000, Math.round(cpus * periodMicroseconds))
}

function writeIfThere(path: string, value: string): void {
  try {
    if (existsSync(path)) writeFileSync(path, value)
  } catch {
    // No swap accounting, not permitted to this user, or not in this order: the main limit decides.
  }
}
