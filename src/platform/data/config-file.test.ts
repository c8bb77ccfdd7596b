import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { builtInEngines } from '../../operator/engines/built-in-engines.ts'
import { builtInProfiles } from '../../operator/resource-profile.ts'
import { readConfigFile } from './config-file.ts'

describe('readConfigFile', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const read = (text: string) => {
    const path = join(folder, 'config.yaml')
    writeFileSync(path, text)
    return readConfigFile(path)
  }

  it('adds images, engines and profiles to what is built in', async () => {
    const config = await read(`
images:
  registry.local-1.localhost/tools/echo: {command: [/bin/cat]}
engines:
  VLLM: {image: '{registry}/vllm/vllm-openai:v1'}
profiles:
  nvidia.com/gpu-h800: {requests: {cpu: 8, memory: 32Gi}, nodeSelector: {pool: big}}
`)
    expect(config.images).toEqual({ 'registry.local-1.localhost/tools/echo': { command: ['/bin/cat'] } })
    expect(config.engines['VLLM']).toEqual({ ...builtInEngines.VLLM, image: '{registry}/vllm/vllm-openai:v1' })
    expect(config.engines['LlamaCpp']).toEqual(builtInEngines.LlamaCpp)
    expect(config.profiles['nvidia.com/gpu-h800']).toEqual({
      requests: { cpu: '8', memory: '32Gi' },
      nodeSelector: { pool: 'big' },
    })
    expect(config.profiles['default']).toEqual({})
  })

  it.each([
    ['no file', () => readConfigFile(undefined)],
    ['an empty file', () => read('')],
    ['JSON', () => read('{"profiles": {}}')],
  ])('takes %s', async (_name, readIt) => {
    expect(await readIt()).toEqual({ images: {}, engines: builtInEngines, profiles: builtInProfiles })
  })

  it.each([
    ['a: [', /--config: .*config\.yaml: /],
    ['cards: {}', /Unrecognized key: "cards"/],
    ['images: {a: {}}', /--config: images\.a\.command/],
    ['profiles: {x: {}}', /--config: profiles\.x/],
    ['engines: {x: {}}', /--config: engines\.x\.image: must name an image/],
  ])('refuses %j by name', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message)
  })

  it('names a file that is not there', async () => {
    await expect(readConfigFile(join(folder, 'nowhere'))).rejects.toThrow(/--config: .*nowhere.*ENOENT|no such file/)
  })
})
