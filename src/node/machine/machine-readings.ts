import { readFileSync, statfsSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'

/** How much the machine has left of the resources that can run out. */
export interface MachineReadings {
  readonly memoryBytes: number
  readonly availableMemoryBytes: number
  readonly diskBytes: number
  readonly availableDiskBytes: number
  readonly inodes: number
  readonly freeInodes: number
  readonly processIds: number
  readonly usedProcessIds: number
}

/** Reads the machine's current state. `folder` is where Pods keep their files. */
export function readMachine(folder: string): MachineReadings {
  const disk = statfsSync(folder)
  // The second number of the fourth field counts all tasks including threads, each of which has a pid.
  const tasks = Number(/ \d+\/(\d+) /.exec(readText('/proc/loadavg'))?.[1] ?? 0)
  return {
    ...readMemory(),
    diskBytes: disk.blocks * disk.bsize,
    availableDiskBytes: disk.bavail * disk.bsize,
    inodes: disk.files,
    freeInodes: disk.ffree,
    processIds: Number(readText('/proc/sys/kernel/pid_max')) || 0,
    usedProcessIds: tasks,
  }
}

export function readMemory(): Pick<MachineReadings, 'memoryBytes' | 'availableMemoryBytes'> {
  const memory = readText('/proc/meminfo')
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(memory)?.[1] ?? 0) * 1024
  return {
    memoryBytes: bytes('MemTotal') || totalmem(),
    availableMemoryBytes: bytes('MemAvailable') || freemem(),
  }
}

export type PressureType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'

export interface Pressure {
  readonly type: PressureType
  readonly pressed: boolean
  readonly message: string
}

const leastMemoryBytes = 100 * 2 ** 20
const leastDiskShare = 0.1
const leastInodeShare = 0.05
const leastProcessIdShare = 0.1

/** Compares with the kubelet's thresholds. A value the machine does not tell is no pressure. */
export function pressures(readings: MachineReadings): Pressure[] {
  const { availableMemoryBytes, diskBytes, availableDiskBytes, inodes, freeInodes, processIds } = readings
  const fullDisk = diskBytes > 0 && availableDiskBytes < diskBytes * leastDiskShare
  const fullTable = inodes > 0 && freeInodes < inodes * leastInodeShare
  const freeIds = processIds - readings.usedProcessIds
  const mebibytes = Math.floor(availableMemoryBytes / 2 ** 20)
  const percent = diskBytes > 0 ? Math.floor((100 * availableDiskBytes) / diskBytes) : 100
  return [
    {
      type: 'MemoryPressure',
      pressed: availableMemoryBytes < leastMemoryBytes,
      message: `${mebibytes} MiB of memory are available`,
    },
    {
      type: 'DiskPressure',
      pressed: fullDisk || fullTable,
      message: `${percent} % of the disk is available${fullTable ? ', and it is almost out of inodes' : ''}`,
    },
    {
      type: 'PIDPressure',
      pressed: processIds > 0 && freeIds < processIds * leastProcessIdShare,
      message: `${freeIds} process ids are free`,
    },
  ]
}

/** The memory that is not given to Pods. */
export function reservedMemoryBytes(memoryBytes: number): number {
  // The kubelet's eviction threshold, plus something for this program and the system, which is less on a small machine.
  return leastMemoryBytes + Math.min(512 * 2 ** 20, Math.floor(memoryBytes * 0.05))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
