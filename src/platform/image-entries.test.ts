import { describe, expect, it } from 'vitest'
import { enginePrograms } from './image-entries.ts'

const registry = 'registry.example.localhost'

describe('enginePrograms', () => {
  it('knows the project’s own image, its engine, and says what is missing for vLLM', () => {
    const { images, vllmUnavailable } = enginePrograms(registry, {}, '/nowhere')
    expect(Object.keys(images)).toEqual([
      `${registry}/sluice/sluice`,
      `${registry}/sluice/llama-cpp`,
      `${registry}/sluice/vllm`,
    ])
    const own = images[`${registry}/sluice/sluice`]
    expect(own).toMatchObject({ command: [process.execPath, expect.stringMatching(/bin\/sluice\.mjs$/)] })
    expect(images[`${registry}/sluice/vllm`]).toEqual({ unavailable: vllmUnavailable })
    expect(vllmUnavailable).toContain('no vllm')
  })

  it('puts what the operator of the machine added before what is built in', () => {
    const added = { [`${registry}/sluice/vllm`]: { command: ['/opt/vllm'] } }
    const { images, vllmUnavailable } = enginePrograms(registry, added, '/nowhere')
    expect(images[`${registry}/sluice/vllm`]).toEqual({ command: ['/opt/vllm'] })
    expect(vllmUnavailable).toBeUndefined()
  })
})
