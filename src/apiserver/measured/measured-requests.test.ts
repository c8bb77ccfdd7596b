import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { ApiServerStage } from '../test-support/api-server-stage.fixture.ts'
import { createTestCertificates } from '../test-support/certificates.fixture.ts'
import { pod } from '../test-support/cluster-objects.fixture.ts'

const base = '/apis/metrics.k8s.io/v1beta1'
const ofPods = `${base}/namespaces/default/pods`
const mebibytes = 2 ** 20

let stage: ApiServerStage
beforeAll(async () => {
  stage = new ApiServerStage(await createTestCertificates('CN=ada'))
  await stage.start()
  const made = async (name: string, nodeName: string, labels: Record<string, string>) => {
    const object = pod(name, { nodeName })
    const { metadata } = await stage.api.create(podKind, 'default', { ...object, metadata: { name, labels } })
    return metadata.uid ?? ''
  }
  await stage.api.create(nodeKind, undefined, { metadata: { name: 'here' } })
  const web = await made('web', 'here', { app: 'web' })
  const batch = await made('batch', 'there', { app: 'batch' })
  await made('quiet', 'here', { app: 'quiet' })
  stage.usage = {
    endedAt: Date.UTC(2030, 0, 1),
    windowMs: 1_500,
    machine: { cpus: 1.5, memoryBytes: 4_096 * mebibytes },
    containers: [
      { podUid: web, container: 'main', cpus: 0.25, memoryBytes: 100 * mebibytes },
      { podUid: web, container: 'side', cpus: 0.000_001, memoryBytes: mebibytes },
      { podUid: batch, container: 'main', cpus: 1, memoryBytes: 10 * mebibytes },
    ],
  }
})
afterAll(() => stage.stop())

const names = ({ json }: { readonly json: Record<string, unknown> }) =>
  (json['items'] as Array<{ metadata: { name: string } }>).map(({ metadata }) => metadata.name)

describe('metrics.k8s.io', () => {
  it('is found, for reading only', async () => {
    const { json } = await stage.call('GET', base)
    expect(json).toMatchObject({
      groupVersion: 'metrics.k8s.io/v1beta1',
      resources: [
        { name: 'nodes', kind: 'NodeMetrics', namespaced: false, verbs: ['get', 'list'] },
        { name: 'pods', kind: 'PodMetrics', namespaced: true, verbs: ['get', 'list'] },
      ],
    })
    for (const method of ['POST', 'DELETE']) expect((await stage.call(method, ofPods)).code).toBe(405)
    expect((await stage.call('GET', `${ofPods}?watch=true`)).code).toBe(405)
  })

  it('tells what the containers of a Pod use', async () => {
    const { code, json } = await stage.call('GET', `${ofPods}/web`)
    expect([code, json]).toEqual([
      200,
      {
        kind: 'PodMetrics',
        apiVersion: 'metrics.k8s.io/v1beta1',
        metadata: {
          name: 'web',
          namespace: 'default',
          labels: { app: 'web' },
          creationTimestamp: '2030-01-01T00:00:00Z',
        },
        timestamp: '2030-01-01T00:00:00Z',
        window: '1.5s',
        containers: [
          { name: 'main', usage: { cpu: '250000000n', memory: '102400Ki' } },
          { name: 'side', usage: { cpu: '1000n', memory: '1024Ki' } },
        ],
      },
    ])
  })

  it('lists those of which something runs, by selector too', async () => {
    expect(names(await stage.call('GET', ofPods))).toEqual(['batch', 'web'])
    expect(names(await stage.call('GET', `${base}/pods?labelSelector=app%3Dweb`))).toEqual(['web'])
    expect(names(await stage.call('GET', `${ofPods}?fieldSelector=spec.nodeName%3Dthere`))).toEqual(['batch'])
    expect((await stage.call('GET', `${ofPods}?labelSelector=%3D%3D`)).code).toBe(400)
  })

  it('does not know a Pod that is not there, or of which nothing runs', async () => {
    for (const name of ['nobody', 'quiet']) {
      const { code, json } = await stage.call('GET', `${ofPods}/${name}`)
      expect([code, json['message']]).toEqual([404, `pods.metrics.k8s.io "${name}" not found`])
    }
  })

  it('counts the machine for its only node, and the Pods of each where there are several', async () => {
    const used = async (name: string) => (await stage.call('GET', `${base}/nodes/${name}`)).json['usage']
    expect(await used('here')).toEqual({ cpu: '1500000000n', memory: '4194304Ki' })
    await stage.api.create(nodeKind, undefined, { metadata: { name: 'there' } })
    expect(await used('here')).toEqual({ cpu: '250001000n', memory: '103424Ki' })
    expect(await used('there')).toEqual({ cpu: '1000000000n', memory: '10240Ki' })
  })
})
