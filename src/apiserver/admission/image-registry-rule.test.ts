import { expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { podKind } from '../../resources/pod.ts'
import { imagesFrom } from './image-registry-rule.ts'

const rule = imagesFrom('registry.north-1.localhost')
const pod = (image: string | undefined, initImage = 'registry.north-1.localhost/a:1') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image }], initContainers: [{ name: 'i', image: initImage }] },
})

it('admits images of the registry', () => {
  expect(rule({ operation: 'create', kind: podKind, object: pod('registry.north-1.localhost/sluice/x:1') })).toEqual([])
})

it.each([
  ['docker.io/library/nginx'],
  ['nginx'],
  ['registry.north-1.localhost.evil.example/x'],
  ['registry.north-1.localhost'],
  [undefined],
])('refuses %s, naming the right registry', (image) => {
  const [error, ...others] = rule({ operation: 'update', kind: podKind, object: pod(image) })
  expect(others).toEqual([])
  expect(error?.field).toBe('spec.containers[0].image')
  expect(error?.message).toContain('use registry.north-1.localhost/<repository>:<tag>')
})

it('looks at init containers too, and at nothing else', () => {
  const object = pod('registry.north-1.localhost/a:1', 'elsewhere/b:1')
  expect(rule({ operation: 'create', kind: podKind, object }).map(({ field }) => field)).toEqual([
    'spec.initContainers[0].image',
  ])
  expect(rule({ operation: 'delete', kind: podKind, object })).toEqual([])
  expect(rule({ operation: 'create', kind: configMapKind, object })).toEqual([])
})
