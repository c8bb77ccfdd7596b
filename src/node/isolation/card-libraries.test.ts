import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { driverSteps } from './card-libraries.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-driver-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the driver of the machine', () => {
  it('is shown with its libraries and the names they are asked for by, and nothing else', () => {
    const names = ['libcuda.so.590.1', 'libnvidia-ml.so.590.1', 'libc.so.6', 'libcudart.so.13', 'libnvidia-x.txt']
    for (const name of names) writeFileSync(join(folder, name), '')
    symlinkSync('libcuda.so.590.1', join(folder, 'libcuda.so.1'))
    symlinkSync('/elsewhere/libnvidia-y.so', join(folder, 'libnvidia-y.so'))
    const steps = driverSteps([folder, folder]).filter(([, , , target]) => !String(target).includes('/bin/'))
    const place = '/usr/local/nvidia/lib64'
    expect(steps).toEqual([
      ['link', `${place}/libcuda.so.1`, 'libcuda.so.590.1'],
      ['bind', join(folder, 'libcuda.so.590.1'), '', `${place}/libcuda.so.590.1`, 'ro', 'nosuid', 'nodev'],
      ['bind', join(folder, 'libnvidia-ml.so.590.1'), '', `${place}/libnvidia-ml.so.590.1`, 'ro', 'nosuid', 'nodev'],
    ])
  })
})
