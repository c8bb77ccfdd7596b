import { expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { deploymentKind } from '../../resources/deployment.ts'
import { jobKind } from '../../resources/job.ts'
import { podTemplateKind } from '../../resources/pod-template-kind.ts'
import { podKind } from '../../resources/pod.ts'
import { replicaSetKind } from '../../resources/replica-set.ts'
import { statefulSetKind } from '../../resources/stateful-set.ts'
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

const user = { name: 'alice', groups: [] }
const workload = (image: string, replicas = 1) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'w' },
  spec: { replicas, template: { spec: pod(image).spec } },
})

it.each([deploymentKind, statefulSetKind, replicaSetKind, jobKind])(
  'refuses a template of a $kind at once, not only its Pods',
  (kind) => {
    const [error, ...others] = rule({ operation: 'create', kind, object: workload('nginx'), user })
    expect(others).toEqual([])
    expect(error?.field).toBe('spec.template.spec.containers[0].image')
    expect(error?.message).toContain('use registry.north-1.localhost/<repository>:<tag>')
    const object = workload('registry.north-1.localhost/a:1')
    expect(rule({ operation: 'create', kind, object, user })).toEqual([])
  },
)

it('refuses a template that is only written down', () => {
  const { metadata, spec } = pod('nginx')
  const object = { apiVersion: 'v1', kind: 'PodTemplate', metadata, template: { spec } }
  expect(rule({ operation: 'create', kind: podTemplateKind, object, user })).toMatchObject([
    { field: 'template.spec.containers[0].image' },
  ])
})

it('lets what has a foreign image already be scaled, and controllers hand it on', () => {
  const [previous, object] = [workload('nginx', 3), workload('nginx', 0)]
  expect(rule({ operation: 'update', kind: deploymentKind, object, previous, user })).toEqual([])
  expect(rule({ operation: 'create', kind: replicaSetKind, object })).toEqual([])
  const changed = workload('nginx:2')
  expect(rule({ operation: 'update', kind: deploymentKind, object: changed, previous, user })).toHaveLength(1)
})
