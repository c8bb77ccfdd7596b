import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { engineKeyVariable } from '../../resources/engine-keys.ts'
import { modelSchema } from '../../resources/model.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { type EngineKeys, newestKey, planEngineKeys, takesKey } from './plan-engine-keys.ts'

let made = 0
const newKey = () => `fresh-${++made}`

function podWith(id: string): Pod {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'sluice', labels: { 'sluice.dev/model': 'm' } },
    spec: { containers: [{ name: 'engine', env: [engineKeyVariable('LLAMA_API_KEY', 'm', id)] }] },
  })
}

describe('planEngineKeys', () => {
  it('begins with one key, and leaves it while no Pod has it', () => {
    const first = planEngineKeys({}, [], newKey)
    expect(Object.keys(first ?? {})).toEqual(['key-1'])
    expect(planEngineKeys(first ?? {}, [], newKey)).toBeUndefined()
  })

  it('makes another one for the next Pods once a Pod has it, and keeps that Pod’s', () => {
    const next = planEngineKeys({ 'key-1': 'one' }, [podWith('key-1')], newKey)
    expect(next).toMatchObject({ 'key-1': 'one', 'key-2': expect.any(String) })
    expect(newestKey(next ?? {})).toBe('key-2')
    expect(newestKey({ 'key-9': '', 'key-10': '', other: '' })).toBe('key-10')
  })

  it('never takes a key from a Pod that has it, never uses one twice, and does not grow', () => {
    const step = fc.record({ pods: fc.integer({ min: 0, max: 3 }), gone: fc.integer({ min: 0, max: 3 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let keys: EngineKeys = planEngineKeys({}, [], newKey) ?? {}
        let pods: string[] = []
        const had = new Set<string>()
        for (const { pods: more, gone } of steps) {
          const id = newestKey(keys) ?? ''
          expect(had.has(keys[id] ?? '')).toBe(false)
          for (let pod = 0; pod < more; pod++) pods.push(id)
          if (more > 0) had.add(keys[id] ?? '')
          pods = pods.slice(gone)
          keys =
            planEngineKeys(keys, more > 0 ? [...pods.map(podWith), podWith(id)] : pods.map(podWith), newKey) ?? keys
          expect(pods.every((one) => keys[one] !== undefined)).toBe(true)
          expect(Object.keys(keys).length).toBeLessThanOrEqual(new Set(pods).size + 9)
        }
      }),
    )
  })

  const variable = { variable: 'VLLM_API_KEY' }
  it.each([
    [['--api-key', 'x'], variable, false],
    [['--api-key=x'], variable, false],
    [['--api-key-file', '/x'], variable, false],
    [['--api-keys'], variable, true],
    [undefined, variable, true],
    [['--token', 'x'], variable, true],
    [['--token', 'x'], { flag: '--token' }, false],
    [['--token=x'], { flag: '--token' }, false],
    [undefined, { flag: '--token' }, true],
    [undefined, 'none' as const, false],
  ])('gives a Model whose arguments are %j, and whose engine takes %j, a key: %s', (args, key, given) => {
    const model = modelSchema.parse({
      apiVersion: 'sluice.dev/v1',
      kind: 'Model',
      metadata: { name: 'm' },
      spec: { url: 'pvc://userdata/m', engine: 'VLLM', args },
    })
    expect(takesKey(model, { key })).toBe(given)
  })
})
