import { describe, expect, it } from 'vitest'
import { configMapSchema } from '../../resources/config-map.ts'
import { podSchema } from '../../resources/pod.ts'
import { secretSchema } from '../../resources/secret.ts'
import { containerVariables } from './container-environment.ts'
import { fieldOf } from './downward-fields.ts'
import type { ReferencedObjects } from './referenced-objects.ts'

const facts = { podIP: '127.64.0.9', hostIP: '127.0.0.1', allocatable: { cpus: 4, memoryBytes: 2 ** 30 } }

const references: ReferencedObjects = {
  configMaps: new Map([
    [
      'settings',
      configMapSchema.parse({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings' },
        data: { COLOR: 'blue', 'odd=name': 'x' },
        binaryData: { RAW: Buffer.from('raw').toString('base64') },
      }),
    ],
  ]),
  secrets: new Map([
    [
      'login',
      secretSchema.parse({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'login' },
        data: { password: Buffer.from('s3cret').toString('base64') },
      }),
    ],
  ]),
}

function variables(container: Record<string, unknown>): Record<string, string> {
  const pod = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'team', uid: 'u', labels: { app: 'a' }, annotations: { 'x/y': 'z' } },
    spec: {
      nodeName: 'here',
      serviceAccountName: 'robot',
      containers: [
        { name: 'main', ...container },
        { name: 'other', resources: { limits: { memory: '64Mi' } } },
      ],
    },
  })
  const [main] = pod.spec.containers
  if (!main) throw new Error('no container')
  return Object.fromEntries(containerVariables(pod, main, facts, new Map([['PATH', '/bin']]), references))
}

const from = (valueFrom: Record<string, unknown>) => ({ env: [{ name: 'A', valueFrom }] })
const resources = { requests: { cpu: '250m' }, limits: { cpu: '1500m', memory: '100Mi' } }

describe('containerVariables', () => {
  it('gives the addresses of both families, where there are two', () => {
    const pod = podSchema.parse({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'main' }] },
    })
    const both = { ...facts, podIP6: 'fd00::9', hostIP6: 'fd00::1' }
    const given = ['podIP', 'podIPs', 'hostIP', 'hostIPs'].map((field) => fieldOf(`status.${field}`, pod, both))
    expect(given).toEqual(['127.64.0.9', '127.64.0.9,fd00::9', '127.0.0.1', '127.0.0.1,fd00::1'])
  })

  it.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'team'],
    ['metadata.uid', 'u'],
    ["metadata.labels['app']", 'a'],
    ["metadata.labels['none']", ''],
    ["metadata.annotations['x/y']", 'z'],
    ['spec.nodeName', 'here'],
    ['spec.serviceAccountName', 'robot'],
    ['status.podIP', '127.64.0.9'],
    ['status.podIPs', '127.64.0.9'],
    ['status.hostIP', '127.0.0.1'],
    ['status.hostIPs', '127.0.0.1'],
  ])('gives the field %s', (fieldPath, expected) => {
    expect(variables(from({ fieldRef: { fieldPath } }))['A']).toBe(expected)
  })

  it.each([
    [{ resource: 'limits.cpu' }, '2'],
    [{ resource: 'limits.cpu', divisor: '1m' }, '1500'],
    [{ resource: 'requests.cpu', divisor: '1m' }, '250'],
    [{ resource: 'limits.memory' }, String(100 * 2 ** 20)],
    [{ resource: 'limits.memory', divisor: '1Mi' }, '100'],
    [{ resource: 'requests.memory', divisor: '1Mi' }, '100'],
    [{ resource: 'limits.memory', containerName: 'other', divisor: '1Mi' }, '64'],
    // Without a limit, what the node can give.
    [{ resource: 'limits.cpu', containerName: 'other' }, '4'],
  ])('gives the resource %j', (resourceFieldRef, expected) => {
    expect(variables({ resources, ...from({ resourceFieldRef }) })['A']).toBe(expected)
  })

  it('takes single values and whole objects from ConfigMaps and Secrets; env wins over envFrom', () => {
    const seen = variables({
      envFrom: [{ configMapRef: { name: 'settings' } }, { prefix: 'DB_', secretRef: { name: 'login' } }],
      env: [
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
        { name: 'RAW', valueFrom: { configMapKeyRef: { name: 'settings', key: 'RAW' } } },
        { name: 'COLOR', value: '$(COLOR)-ish' },
        { name: 'URL', value: 'db://$(DB_password)@$(HOST)' },
      ],
    })
    expect(seen).toEqual({
      PATH: '/bin',
      COLOR: 'blue-ish',
      DB_password: 's3cret',
      PASSWORD: 's3cret',
      RAW: 'raw',
      URL: 'db://s3cret@$(HOST)',
    })
  })

  it.each([
    [from({ secretKeyRef: { name: 'none', key: 'k' } }), 'secret "none" not found'],
    [from({ configMapKeyRef: { name: 'none', key: 'k' } }), 'configmap "none" not found'],
    [from({ secretKeyRef: { name: 'login', key: 'none' } }), "couldn't find key none in Secret team/login"],
    [{ envFrom: [{ configMapRef: { name: 'none' } }] }, 'configmap "none" not found'],
    [{ envFrom: [{ secretRef: { name: 'none' } }] }, 'secret "none" not found'],
    [from({ fieldRef: { fieldPath: 'metadata.labels' } }), 'metadata.labels'],
    [from({ fieldRef: { fieldPath: 'spec.hostname' } }), 'spec.hostname'],
    [from({ resourceFieldRef: { resource: 'limits.hugepages-2Mi' } }), 'limits.hugepages-2Mi'],
    [from({ fileKeyRef: { key: 'k' } }), 'not supported'],
  ])('refuses %j', (container, message) => {
    expect(() => variables(container)).toThrow(message)
  })

  it('leaves out what is optional and not there', () => {
    const container = {
      envFrom: [{ configMapRef: { name: 'none', optional: true } }, { secretRef: { name: 'none', optional: true } }],
      ...from({ secretKeyRef: { name: 'login', key: 'none', optional: true } }),
    }
    expect(variables(container)).toEqual({ PATH: '/bin' })
  })
})
