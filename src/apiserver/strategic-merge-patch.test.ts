import { describe, expect, it } from 'vitest'
import { strategicMergePatch } from './strategic-merge-patch.ts'

const containers = [
  { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }], ports: [{ containerPort: 80, name: 'http' }] },
  { name: 'b', image: 'b:1' },
]

/** Each was checked against a kube-apiserver 1.34 with the same Pod template. */
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
    'replaces a map on request',
    { containers, nodeSelector: { a: 'b' } },
    { nodeSelector: { $patch: 'replace', c: 'd' } },
    { containers, nodeSelector: { c: 'd' } },
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
    expect(strategicMergePatch('Pod', { spec: before }, { spec: patch })).toEqual({ spec: after })
  })
})

it('treats finalizers as a set', () => {
  const before = { metadata: { finalizers: ['a/a', 'b/b'] } }
  expect(strategicMergePatch('ConfigMap', before, { metadata: { finalizers: ['c/c'] } })).toEqual({
    metadata: { finalizers: ['c/c', 'a/a', 'b/b'] },
  })
  const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/a'] } }
  expect(strategicMergePatch('ConfigMap', before, patch)).toEqual({ metadata: { finalizers: ['b/b'] } })
})

it('refuses items without their key, and unknown directives', () => {
  const noKey = { spec: { containers: [{ image: 'x' }] } }
  expect(() => strategicMergePatch('Pod', { spec: { containers } }, noKey)).toThrow(
    'does not contain declared merge key: name',
  )
  expect(() => strategicMergePatch('Pod', {}, { spec: { $patch: 'explode' } })).toThrow('Unknown patch type')
  expect(() => strategicMergePatch('Pod', {}, [])).toThrow('is an object')
})

it('is not slowed down by long lists', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({ name: `c${index}` }))
  const patch = { spec: { containers: many, '$setElementOrder/containers': many.toReversed() } }
  const result = strategicMergePatch('Pod', { spec: { containers: many } }, patch) as {
    spec: { containers: unknown[] }
  }
  expect(result.spec.containers[0]).toEqual({ name: 'c19999' })
})
