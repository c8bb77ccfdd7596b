import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { type MachineReadings, pressures, readMachine, reservedMemoryBytes } from './machine-readings.ts'

const gibibyte = 2 ** 30
const roomy: MachineReadings = {
  memoryBytes: 16 * gibibyte,
  availableMemoryBytes: 8 * gibibyte,
  diskBytes: 100 * gibibyte,
  availableDiskBytes: 50 * gibibyte,
  inodes: 1000,
  freeInodes: 500,
  processIds: 32_768,
  usedProcessIds: 500,
}
const pressed = (readings: Partial<MachineReadings>) =>
  pressures({ ...roomy, ...readings }).flatMap(({ type, pressed: is }) => (is ? [type] : []))

describe('pressures', () => {
  it.each([
    [{}, []],
    [{ availableMemoryBytes: 50 * 2 ** 20 }, ['MemoryPressure']],
    [{ availableDiskBytes: 9 * gibibyte }, ['DiskPressure']],
    [{ freeInodes: 40 }, ['DiskPressure']],
    [{ inodes: 0, freeInodes: 0 }, []],
    [{ usedProcessIds: 30_000 }, ['PIDPressure']],
    [{ processIds: 0 }, []],
  ])('%j presses %j', (readings, types) => {
    expect(pressed(readings)).toEqual(types)
  })
})

describe('readMachine', () => {
  it('reads this machine', () => {
    const readings = readMachine(tmpdir())
    expect(readings.memoryBytes).toBeGreaterThan(readings.availableMemoryBytes)
    expect(readings.availableMemoryBytes).toBeGreaterThan(0)
    expect(readings.diskBytes).toBeGreaterThan(0)
    expect(readings.processIds).toBeGreaterThan(readings.usedProcessIds)
    expect(readings.usedProcessIds).toBeGreaterThan(0)
    expect(reservedMemoryBytes(readings.memoryBytes)).toBeLessThan(readings.memoryBytes)
  })
})
