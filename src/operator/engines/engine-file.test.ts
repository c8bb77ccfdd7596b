import { describe, expect, it } from 'vitest'
import { builtInEngines, engineDefaults } from './built-in-engines.ts'
import { parseEngines } from './engine-file.ts'

const sglang = {
  image: 'registry.example.com/lmsysorg/sglang:v1',
  command: ['python3', '-m', 'sglang.launch_server'],
  args: ['--model-path', '{modelPath}', '--config', '{"a": {"b": 1}}'],
  key: { flag: '--api-key' },
}

describe('the engines of a configuration file', () => {
  it('are added to those that are built in, with defaults', () => {
    const table = parseEngines({ SGLang: sglang }, '--config')
    expect(table).toEqual({ ...builtInEngines, SGLang: { ...engineDefaults, ...sglang } })
  })

  it('change of a built-in engine what they name, and nothing else', () => {
    const { VLLM } = parseEngines({ VLLM: { image: 'vllm/vllm-openai:v1', sharedMemory: '16Gi' } }, '--config')
    expect(VLLM).toEqual({ ...builtInEngines.VLLM, image: 'vllm/vllm-openai:v1', sharedMemory: '16Gi' })
  })

  it('have other options and files where a built-in engine gets another program', () => {
    const optionsWith = (fields: object) => parseEngines({ LlamaCpp: fields }, '--config')['LlamaCpp']?.options
    expect(optionsWith({ graceSeconds: 5 })).toContain('--threads')
    expect(optionsWith({ command: ['llama-server'] })).toBeUndefined()
    expect(optionsWith({ image: 'x', options: ['--mine'] })).toEqual(['--mine'])
  })

  it('take numbers for quantities, as YAML has them', () => {
    expect(parseEngines({ VLLM: { requests: { cpu: 4 } } }, '--config')['VLLM']?.requests).toEqual({ cpu: '4' })
  })

  it.each([
    [[], 'engines: Invalid input'],
    [{ 'two words': sglang }, 'engines.two words: must be a name'],
    [{ X: {} }, 'engines.X.image: must name an image'],
    [{ X: { image: 'x' } }, 'engines.X.key: must be none, {variable: NAME} or {flag: --NAME}'],
    [{ X: { ...sglang, key: { variable: 'A B' } } }, 'engines.X.key'],
    [{ X: { ...sglang, arguments: [] } }, 'engines.X: Unrecognized key: "arguments"'],
    [
      { X: { ...sglang, args: ['{model}'] } },
      'engines.X.args.0: {model} means nothing here; known are {modelPath}, {modelName}',
    ],
    [{ X: { ...sglang, env: { A: '{hosts}' } } }, 'engines.X.env.A: {hosts} means nothing here'],
    [{ X: { ...sglang, image: '{registri}/x' } }, 'engines.X.image: {registri} means nothing here'],
    [{ X: { ...sglang, args: ['{groupRank}'] } }, 'engines.X.args.0: {groupRank} means nothing here'],
    [
      { X: { ...sglang, group: { args: ['{rank}'] } } },
      'engines.X.group.args.0: {rank} means nothing here; known are {modelPath}, {modelName}',
    ],
    [{ X: { ...sglang, group: 'some' } }, 'engines.X.group: must be none or an object'],
    [{ X: { ...sglang, group: { unless: ['nnodes'] } } }, 'engines.X.group.unless.0: must be a flag'],
    [{ X: { ...sglang, group: { flags: [] } } }, 'engines.X.group: Unrecognized key: "flags"'],
    [{ X: { ...sglang, port: 70_000 } }, 'engines.X.port'],
    [{ X: { ...sglang, healthPath: 'health' } }, 'engines.X.healthPath'],
    [{ X: { ...sglang, startupSeconds: 0 } }, 'engines.X.startupSeconds'],
    [{ X: { ...sglang, sharedMemory: 'lots' } }, 'engines.X.sharedMemory: must be a quantity'],
    [{ X: { ...sglang, weightsCache: { size: '1Ti' } } }, 'engines.X.weightsCache: needs either hostPath or volume'],
    [
      { X: { ...sglang, weightsCache: { hostPath: '/a/../b', size: '1Ti' } } },
      'weightsCache.hostPath: must not contain',
    ],
    [{ X: { ...sglang, weightsCache: { hostPath: '/', size: '1Ti' } } }, 'weightsCache.hostPath: must be the absolute'],
  ])('refuse %j', (value, message) => {
    expect(() => parseEngines(value, '--config')).toThrow(message)
  })
})
