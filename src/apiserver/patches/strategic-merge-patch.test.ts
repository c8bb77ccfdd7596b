import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { coreSchema } from '../../resources/facts/core-facts.ts'
import { mergePatch } from './merge-patch.ts'
import { strategicMergePatch } from './strategic-merge-patch.ts'

const pod = coreSchema('', 'v1', 'Pod')
const configMap = coreSchema('', 'v1', 'ConfigMap')
const deployment = coreSchema('apps', 'v1', 'Deployment')

const containers = [
  { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }], ports: [{ containerPort: 80, name: 'http' }] },
  { name: 'b', image: 'b:1' },
]

/** Each case was checked against a kube-apiserver 1.34 with the same Pod template. */
const cases: Array<[string, Record<string, unknown>, Record<string, unknown>, Record<string, unknown>]> = [
  [
    'merges items of a list by their key',
    { containers },
    { containers: [{ name: 'b', image: 'b:2' }] },
    { containers: [containers[0], { name: 'b', image: 'b:2' }] },
  ],
  [
    'puts items with a new key before those it does not name',
    { containers },
    { containers: [{ name: 'c', image: 'c:1' }] },
    { containers: [{ name: 'c', image: 'c:1' }, ...containers] },
  ],
  [
    'merges lists within items',
    { containers },
    {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '3' },
          ],
        },
      ],
    },
    {
      containers: [
        {
          ...containers[0],
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '3' },
          ],
        },
        containers[1],
      ],
    },
  ],
  [
    'deletes an item by its key',
    { containers },
    { containers: [{ name: 'a', $patch: 'delete' }] },
    { containers: [containers[1]] },
  ],
  [
    'replaces a list on request',
    { containers },
    { containers: [{ name: 'z', image: 'z:1' }, { $patch: 'replace' }] },
    { containers: [{ name: 'z', image: 'z:1' }] },
  ],
  [
    'orders items as asked, and keeps the others in place',
    { containers: [...containers, { name: 'c', image: 'c:1' }] },
    { '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }], containers: [{ name: 'c', image: 'c:2' }] },
    { containers: [containers[1], { name: 'c', image: 'c:2' }, containers[0]] },
  ],
  [
    'orders new items among the old ones',
    { containers },
    {
      '$setElementOrder/containers': [{ name: 'n' }, { name: 'a' }, { name: 'b' }],
      containers: [{ name: 'n', image: 'n:1' }],
    },
    { containers: [{ name: 'n', image: 'n:1' }, ...containers] },
  ],
  [
    'replaces lists without a key',
    { containers, tolerations: [{ key: 'a', operator: 'Exists' }] },
    { tolerations: [{ key: 'b', operator: 'Exists' }] },
    { containers, tolerations: [{ key: 'b', operator: 'Exists' }] },
  ],
  [
    'removes fields with null',
    { containers, nodeSelector: { a: 'b', c: 'd' } },
    { nodeSelector: { a: null } },
    { containers, nodeSelector: { c: 'd' } },
  ],
  [
    'replaces a map on request, where there is one',
    { containers, nodeSelector: { a: 'b' } },
    { nodeSelector: { $patch: 'replace', c: 'd' } },
    { containers, nodeSelector: { c: 'd' } },
  ],
  [
    'drops a map that is to replace one that is not there',
    { containers },
    { nodeSelector: { $patch: 'replace', c: 'd' } },
    { containers },
  ],
  [
    'empties a map on request',
    { containers, nodeSelector: { a: 'b' } },
    { nodeSelector: { $patch: 'delete' } },
    { containers, nodeSelector: {} },
  ],
  [
    'orders items that it does not change',
    { containers },
    { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
    { containers: containers.toReversed() },
  ],
  [
    'deletes, changes and adds at once',
    { containers },
    {
      containers: [
        { name: 'c', image: 'c' },
        { name: 'b', $patch: 'delete' },
        { name: 'a', image: 'a:2' },
      ],
    },
    {
      containers: [
        { name: 'c', image: 'c' },
        { ...containers[0], image: 'a:2' },
      ],
    },
  ],
  [
    'keeps only the keys that are retained',
    { containers, volumes: [{ name: 'v', emptyDir: {} }] },
    { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x', type: '' } }] },
    { containers, volumes: [{ name: 'v', hostPath: { path: '/x', type: '' } }] },
  ],
]

describe('a strategic merge patch of a Pod', () => {
  it.each(cases)('%s', (_what, before, patch, after) => {
    expect(strategicMergePatch(pod, { spec: before }, { spec: patch })).toEqual({ spec: after })
  })
})

it('treats finalizers as a set', () => {
  const before = { metadata: { finalizers: ['a/a', 'b/b'] } }
  expect(strategicMergePatch(configMap, before, { metadata: { finalizers: ['c/c'] } })).toEqual({
    metadata: { finalizers: ['c/c', 'a/a', 'b/b'] },
  })
  const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/a'] } }
  expect(strategicMergePatch(configMap, before, patch)).toEqual({ metadata: { finalizers: ['b/b'] } })
})

it('refuses items without their key, and unknown directives', () => {
  const noKey = { spec: { containers: [{ image: 'x' }] } }
  expect(() => strategicMergePatch(pod, { spec: { containers } }, noKey)).toThrow(
    'does not contain declared merge key: name',
  )
  expect(() => strategicMergePatch(pod, { spec: {} }, { spec: { $patch: 'explode' } })).toThrow('unknown patch type')
  expect(() => strategicMergePatch(pod, {}, [])).toThrow('is an object')
})

it('is not slowed down by long lists', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({ name: `c${index}` }))
  const patch = { spec: { containers: many.toReversed(), '$setElementOrder/containers': many.toReversed() } }
  const result = strategicMergePatch(pod, { spec: { containers: many } }, patch) as {
    spec: { containers: unknown[] }
  }
  expect(result.spec.containers[0]).toEqual({ name: 'c19999' })
})

it('knows the lists of every kind, however deep', () => {
  const before = {
    spec: { template: { spec: { containers } }, strategy: { type: 'RollingUpdate', rollingUpdate: {} } },
  }
  const patch = {
    spec: {
      template: { spec: { containers: [{ name: 'b', ports: [{ containerPort: 1 }] }] } },
      strategy: { $retainKeys: ['type'], type: 'Recreate' },
    },
  }
  expect(strategicMergePatch(deployment, before, patch)).toEqual({
    spec: {
      template: { spec: { containers: [containers[0], { ...containers[1], ports: [{ containerPort: 1 }] }] } },
      strategy: { type: 'Recreate' },
    },
  })
})

describe('malformed strategic merge patches are the fault of the client', () => {
  const spec = { containers, strategy: { type: 'Recreate' }, tolerations: [] }
  it.each([
    ['items of another type', { containers: ['a'] }, 'list element types are not identical'],
    ['lists of lists', { containers: [['a']] }, 'lists of lists are not supported'],
    [
      'an unknown directive of an item',
      { containers: [{ name: 'a', $patch: 'merge' }] },
      'unknown patch type: "merge"',
    ],
    ['an order that is no list', { '$setElementOrder/containers': 'x' }, 'must be a list'],
    [
      'an order that leaves out what is patched',
      { '$setElementOrder/containers': [{ name: 'b' }], containers: [{ name: 'a' }] },
      'does not match',
    ],
    ['retained keys without what is patched', { $retainKeys: ['x'], y: 1 }, 'invalid patch format of retainKeys'],
  ])('%s', (_what, patch, why) => {
    const apply = () => strategicMergePatch(pod, { spec }, { spec: patch })
    expect(apply).toThrow(expect.objectContaining({ reason: 'BadRequest', message: expect.stringContaining(why) }))
  })
})

describe('for any object and patch', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const item = fc.record(
    { name: fc.constantFrom(...names), image: fc.string(), stdin: fc.boolean() },
    { requiredKeys: ['name'] },
  )
  const list = fc.uniqueArray(item, { selector: ({ name }) => name, maxLength: 5 })
  const named = (items: ReadonlyArray<{ name: string }>) => items.map(({ name }) => name)
  const apply = (before: unknown, patch: Record<string, unknown>) => {
    const result = strategicMergePatch(pod, { spec: { containers: before } }, { spec: patch }) as {
      spec: { containers: Array<{ name: string; image?: string }> }
    }
    return result.spec.containers
  }

  it('is a merge patch where no lists are involved', () => {
    const value = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      map: fc.dictionary(fc.constantFrom(...names), fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('map'))),
    })).map
    const whole = (input: unknown) => JSON.parse(JSON.stringify(mergePatch({}, input)))
    fc.assert(
      fc.property(value, value, (before, patch) => {
        const target = whole(before)
        expect(strategicMergePatch({ type: 'object' }, target, patch)).toEqual(mergePatch(target, patch))
      }),
    )
  })

  it('merges keyed lists item by item, new items first, and says the same when applied again', () => {
    fc.assert(
      fc.property(list, list, (before, patch) => {
        const after = apply(before, { containers: patch })
        const expected = new Map(before.map((one) => [one.name, one]))
        for (const one of patch) expected.set(one.name, { ...expected.get(one.name), ...one })
        expect(Object.fromEntries(after.map((one) => [one.name, one]))).toEqual(Object.fromEntries(expected))
        expect(after).toHaveLength(expected.size)
        expect(named(after).filter((name) => named(patch).includes(name))).toEqual(named(patch))
        const untouched = named(before).filter((name) => !named(patch).includes(name))
        expect(named(after).filter((name) => untouched.includes(name))).toEqual(untouched)
        expect(apply(after, { containers: patch })).toEqual(after)
      }),
    )
  })

  it('puts what an order names into that order, and leaves the others among themselves', () => {
    fc.assert(
      fc.property(list, fc.shuffledSubarray(names), (before, order) => {
        const after = apply(before, { '$setElementOrder/containers': order.map((name) => ({ name })) })
        expect(after.toSorted(byName)).toEqual(before.toSorted(byName))
        const wanted = order.filter((name) => named(before).includes(name))
        expect(named(after).filter((name) => order.includes(name))).toEqual(wanted)
        const others = named(before).filter((name) => !order.includes(name))
        expect(named(after).filter((name) => others.includes(name))).toEqual(others)
      }),
    )
  })

  it('deletes exactly the items that are to go', () => {
    fc.assert(
      fc.property(list, fc.subarray(names), (before, gone) => {
        const after = apply(before, { containers: gone.map((name) => ({ name, $patch: 'delete' })) })
        expect(after).toEqual(before.filter(({ name }) => !gone.includes(name)))
      }),
    )
  })

  it('treats lists of values as sets', () => {
    const values = fc.uniqueArray(fc.constantFrom('a/1', 'b/1', 'c/1', 'd/1'))
    fc.assert(
      fc.property(values, values, values, (before, added, gone) => {
        const patch = { finalizers: added, '$deleteFromPrimitiveList/finalizers': gone }
        const result = strategicMergePatch(configMap, { metadata: { finalizers: before } }, { metadata: patch }) as {
          metadata: { finalizers: string[] }
        }
        const expected = new Set([...before, ...added].filter((value) => !gone.includes(value)))
        expect(new Set(result.metadata.finalizers)).toEqual(expected)
        expect(result.metadata.finalizers).toHaveLength(expected.size)
      }),
    )
  })
})

function byName(left: { name: string }, right: { name: string }): number {
  return left.name < right.name ? -1 : 1
}
