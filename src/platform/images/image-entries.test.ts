import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isExecutable } from '../../node/isolation/detect-isolation.ts'
import { enginePrograms } from './image-entries.ts'
import { mainProgram, memorySettings, nodeFlag } from './own-program.ts'

const registry = 'registry.example.localhost'

describe('enginePrograms', () => {
  it('knows the project’s own image, its engine, and says what is missing for vLLM', () => {
    const images = enginePrograms(registry, {}, '/nowhere')
    expect(Object.keys(images)).toEqual([
      `${registry}/sluice/sluice`,
      `${registry}/sluice/llama-cpp`,
      `${registry}/sluice/vllm`,
    ])
    const own = images[`${registry}/sluice/sluice`]
    expect(own).toMatchObject({ command: [process.execPath, nodeFlag, mainProgram], env: memorySettings })
    expect(images[`${registry}/sluice/vllm`]).toEqual({ unavailable: expect.stringContaining('no vllm') })
  })

  it('has the program `sluice` in the images of this project, before whatever the machine calls so', () => {
    const images = enginePrograms(registry, {}, '/usr/bin')
    for (const name of ['sluice', 'llama-cpp']) {
      const entry = images[`${registry}/sluice/${name}`]
      const [folder = '', ...others] = entry && 'command' in entry ? (entry.env?.['PATH'] ?? '').split(':') : []
      expect(others).toEqual(['/usr/bin'])
      expect(isExecutable(join(folder, 'sluice'))).toBe(true)
      expect(entry).toMatchObject({ visible: expect.arrayContaining([folder]) })
    }
  })

  it('puts what the operator of the machine added before what is built in', () => {
    const added = { [`${registry}/sluice/vllm`]: { command: ['/opt/vllm'] } }
    const images = enginePrograms(registry, added, '/nowhere')
    expect(images[`${registry}/sluice/vllm`]).toEqual({ command: ['/opt/vllm'] })
  })

  it('shows vLLM what it is installed with, and nothing else of the folder that is in', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-vllm-'))
    const python = join(folder, 'python/bin/python3')
    for (const path of [python, join(folder, 'venv/bin/vllm'), join(folder, 'venv/secrets/key')]) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, `#!${python}\n`, { mode: 0o755 })
    }
    const images = enginePrograms(registry, {}, join(folder, 'venv/bin'))
    const parts = ['venv', 'python'].flatMap((prefix) =>
      ['bin', 'lib', 'lib64', 'pyvenv.cfg'].map((name) => join(folder, prefix, name)),
    )
    expect(images[`${registry}/sluice/vllm`]).toMatchObject({ visible: parts, kept: '/var/cache/sluice' })
    rmSync(folder, { recursive: true })
  })
})
