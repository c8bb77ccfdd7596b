import { describe, expect, it } from 'vitest'
import { fieldErrorsOf } from './field-error.ts'
import { parseModelUrl, parseResourceProfile } from './model-references.ts'
import { modelKind } from './model.ts'

const smallest = { url: 'pvc://userdata/models/a', engine: 'LlamaCpp' }
const manifest = (spec: object) => ({ apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name: 'a' }, spec })

/** Every field path that its type refuses; what rules refuse is tested with the rules. */
function refusals(spec: object): string[] {
  const object = manifest(spec)
  const parsed = modelKind.schema.safeParse(object)
  if (!parsed.success) return fieldErrorsOf(parsed.error, object).map(({ field }) => field)
  return []
}

describe('Model', () => {
  it('gets defaults for everything but url and engine', () => {
    expect(modelKind.schema.parse(manifest(smallest)).spec).toEqual({
      ...smallest,
      features: ['TextGeneration'],
      imagePullSecrets: [],
      resourceProfile: 'default:1',
      minReplicas: 0,
      maxReplicas: 1,
      targetRequests: 100,
      scaleDownDelaySeconds: 30,
    })
  })

  it.each([
    [{ url: undefined }, 'spec.url'],
    [{ engine: undefined }, 'spec.engine'],
    [{ engine: 'two words' }, 'spec.engine'],
    [{ engine: '' }, 'spec.engine'],
    [{ engine: 'x'.repeat(64) }, 'spec.engine'],
    [{ features: ['TextGeneration', 'Dreaming'] }, 'spec.features[1]'],
    [{ features: [] }, 'spec.features'],
    [{ minReplicas: -1 }, 'spec.minReplicas'],
    [{ minReplicas: 1.5 }, 'spec.minReplicas'],
    [{ minReplicas: '1' }, 'spec.minReplicas'],
    [{ maxReplicas: 0 }, 'spec.maxReplicas'],
    [{ targetRequests: 0 }, 'spec.targetRequests'],
    [{ scaleDownDelaySeconds: -1 }, 'spec.scaleDownDelaySeconds'],
    [{ resourceProfile: 'nvidia.com/gpu-l40s' }, 'spec.resourceProfile'],
    [{ resourceProfile: 'nvidia.com/gpu-l40s:0' }, 'spec.resourceProfile'],
    [{ resourceProfile: 'cpu:1' }, 'spec.resourceProfile'],
    [{ imagePullSecrets: [''] }, 'spec.imagePullSecrets[0]'],
  ])('with %j is refused at %s', (change, field) => {
    expect(refusals({ ...smallest, ...change })).toEqual([field])
  })

  it.each([
    'userdata/models/a',
    'https://example.com/a',
    'pvc://userdata',
    'pvc://userdata/',
    'pvc://userdata/../etc',
    'pvc://userdata/a/..',
    'pvc://userdata/./a',
    'pvc://userdata//a',
    'pvc://userdata/a/',
    'pvc://userdata/%2e%2e/etc',
    'pvc://userdata/a%2Fb',
    'pvc://userdata/a%5cb',
    'pvc://userdata/a\\b',
    'pvc://userdata/a b',
    'pvc://User/a',
    'pvc:///a',
  ])('refuses the url %s', (url) => {
    expect(refusals({ ...smallest, url })).toEqual(['spec.url'])
  })

  it.each(['VLLM', 'LlamaCpp', 'SGLang', 'llama.cpp', 'x'])(
    'takes the engine %s, which its cluster may know',
    (engine) => {
      expect(refusals({ ...smallest, engine })).toEqual([])
    },
  )

  it.each(['pvc://userdata/a', 'pvc://user-data-2/models/DeepSeek-R1/v1.0', 'pvc://userdata/..a/b..c'])(
    'takes the url %s',
    (url) => {
      expect(refusals({ ...smallest, url })).toEqual([])
    },
  )

  it('takes references apart', () => {
    expect(parseModelUrl('pvc://userdata/models/a')).toEqual({ claim: 'userdata', path: 'models/a' })
    expect(parseResourceProfile('nvidia.com/gpu-h800-80gb-hbm3:16')).toEqual({
      profile: 'nvidia.com/gpu-h800-80gb-hbm3',
      cards: 16,
    })
  })
})
