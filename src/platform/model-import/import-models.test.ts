import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { ImportSettings } from './convert-model.ts'
import { importText, manifestText, noteLine } from './import-models.ts'
import { kubeAiModels } from './kubeai-models.fixture.ts'

const settings: ImportSettings = { claim: 'userdata', maxReplicas: 1, profiles: new Map(), engines: new Map() }

async function imported(text = kubeAiModels, changes: Partial<ImportSettings> = {}) {
  const { models, notes, incomplete } = await importText(text, 'models.yaml', { ...settings, ...changes })
  return {
    models: new Map(models.map((model) => [model.metadata.name, model])),
    notes: notes.map(noteLine),
    incomplete,
  }
}

const one = (spec: string) => `
apiVersion: kubeai.org/v1
kind: Model
metadata: { name: m }
spec: { ${spec} }`

describe('the import of Models of KubeAI', () => {
  it('keeps what both have, and what people wrote about it', async () => {
    const { models } = await imported()
    expect(models.get('llama-405b-h100')).toEqual({
      apiVersion: 'sluice.dev/v1',
      kind: 'Model',
      metadata: {
        name: 'llama-405b-h100',
        namespace: 'sluice',
        labels: { team: 'research' },
        annotations: { note: 'ours' },
      },
      spec: {
        features: ['TextGeneration'],
        owner: 'meta',
        url: 'pvc://userdata/models/neuralmagic/Llama-405B-FP8',
        engine: 'VLLM',
        resourceProfile: 'nvidia.com/gpu-h100:8',
        minReplicas: 0,
        maxReplicas: 4,
        targetRequests: 500,
        scaleDownDelaySeconds: 60,
        args: ['--max-model-len=65536', '--tensor-parallel-size=8', '--enable-prefix-caching'],
      },
    })
  })

  it('says of each field what became of it', async () => {
    const { notes } = await imported()
    expect(notes.filter((note) => note.startsWith('llama-405b'))).toEqual([
      'llama-405b-h100: spec.url changed: files are in a claim before the Model starts; put them at pvc://userdata/models/neuralmagic/Llama-405B-FP8, such as with "hf download neuralmagic/Llama-405B-FP8 --local-dir …".',
      'llama-405b-h100: spec.resourceProfile changed: nvidia-gpu-h100:8 is nvidia.com/gpu-h100:8 here; the profiles of the chart say which nodes have it.',
      'llama-405b-h100: spec.args left out: --served-model-name is set by Sluice.',
      'llama-405b-h100: spec.args left out: --port is set by Sluice.',
      'llama-405b-h100: spec.env left out: a Model has no variables here: VLLM_USE_V1.',
    ])
    const fieldsOf = (name: string) =>
      notes.flatMap((note) => (note.startsWith(`${name}: `) ? [note.split(' ').slice(1, 4).join(' ')] : []))
    expect(fieldsOf('everything')).toEqual([
      'metadata.namespace changed: the',
      'spec.resourceProfile changed: nothing',
      'spec.maxReplicas changed: there',
      'spec.adapters changed: files',
      'spec.envFrom left out:',
      'spec.files left out:',
      'spec.image left out:',
      'spec.cacheProfile left out:',
      'spec.priorityClassName left out:',
      'spec.loadBalancing left out:',
      'spec.speculation left out:',
    ])
  })

  it('keeps adapters, with where their files have to be', async () => {
    const { models } = await imported()
    expect(models.get('everything')?.spec['adapters']).toEqual([
      { name: 'sql', url: 'pvc://userdata/models/someone/sql-lora' },
    ])
  })

  it('makes of what Ollama serves a Model of the built-in engine, with as many replicas as it was fixed at', async () => {
    const { models, notes } = await imported()
    expect(models.get('gemma')?.spec).toEqual({
      features: ['TextGeneration', 'TextEmbedding'],
      url: 'pvc://userdata/models/gemma3-12b',
      engine: 'LlamaCpp',
      resourceProfile: 'default:1',
      minReplicas: 3,
      maxReplicas: 3,
    })
    expect(notes).toContain('gemma: spec.args left out: LlamaCpp does not have those of OLlama: --verbose')
  })

  it('leaves files that are in a claim where they are', async () => {
    const { models } = await imported()
    expect(models.get('everything')?.spec).toMatchObject({ url: 'pvc://weights/llama', minReplicas: 2, maxReplicas: 2 })
  })

  it.each([
    ['pvc://weights', 'pvc://weights/models/m'],
    ['pvc://weights?model=qwen2:0.5b', 'pvc://weights/models/qwen2-0.5b'],
    ['s3://bucket/llama/8b/', 'pvc://userdata/models/bucket/llama/8b'],
    ['gs://bucket/llama', 'pvc://userdata/models/bucket/llama'],
    ['oss://bucket/llama', 'pvc://userdata/models/bucket/llama'],
  ])('says where the files of %s have to be: %s', async (url, expected) => {
    const { models, notes } = await imported(one(`url: "${url}", engine: VLLM`))
    expect(models.get('m')?.spec['url']).toBe(expected)
    expect(notes.find((note) => note.includes('spec.url changed'))).toContain(expected)
  })

  it('takes the names of profiles and engines that it is told', async () => {
    const { models } = await imported(one('url: hf://a/b, engine: TheirEngine, resourceProfile: "cpu:4"'), {
      profiles: new Map([['cpu', 'intel.com/gpu-none']]),
      engines: new Map([['TheirEngine', 'VLLM']]),
    })
    expect(models.get('m')?.spec).toMatchObject({ engine: 'VLLM', resourceProfile: 'intel.com/gpu-none:4' })
  })

  it('keeps the name of an engine that only the chart can know, and says so', async () => {
    const { models, notes } = await imported()
    expect(models.get('whisper')?.spec['engine']).toBe('FasterWhisper')
    expect(notes).toContain('whisper: spec.engine changed: the engines of the chart have to say what FasterWhisper is.')
  })

  it('leaves out a Model that cannot be one of ours, and says why', async () => {
    const { models, notes, incomplete } = await imported()
    expect(models.has('broken')).toBe(false)
    expect(notes).toContain('broken: left out: spec.url: Invalid input: expected string, received undefined.')
    expect(notes).toContain('Service dev: skipped: it is no Model of kubeai.org/v1.')
    expect(incomplete).toBe(true)
    const twice = await imported(`${one('url: hf://a/b, engine: VLLM')}\n---${one('url: hf://a/b, engine: VLLM')}`)
    expect(twice.notes.at(-1)).toBe('m: left out: the Model has the name of another one.')
    const unfit = await imported(one('url: "hf://a/b c", engine: VLLM'))
    expect(unfit.notes).toEqual([expect.stringMatching(/^m: left out: spec\.url: Invalid value/)])
  })

  it('is complete when every Model has a counterpart, whatever else a file has', async () => {
    const { incomplete } = await imported(`${one('url: hf://a/b, engine: VLLM')}\n---\nkind: Service`)
    expect(incomplete).toBe(false)
  })

  it('writes documents that any YAML reader takes', async () => {
    const { models } = await importText(kubeAiModels, 'models.yaml', settings)
    const documents = parseAllDocuments(await manifestText(models)).map((document) => document.toJS())
    expect(documents).toEqual(models)
  })

  it.each(['a: [', 'a: &a [1]\nb: *c'])('refuses what is no YAML: %s', async (text) => {
    await expect(imported(text)).rejects.toThrow(/^models\.yaml: it is no YAML: /)
  })
})
