import { expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const classes = '/apis/node.k8s.io/v1/runtimeclasses'
  const runtimeClass = async (fields: Record<string, unknown>) => {
    const name = `${server.namespace}-class`
    await server.ok('POST', classes, {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name },
      handler: 'h',
      ...fields,
    })
    return name
  }
  const pod = (runtimeClassName: string | undefined, spec: Record<string, unknown> = {}) =>
    server.http('POST', server.path('pods'), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { runtimeClassName, containers: [{ name: 'a', image: 'registry.lab-1.localhost/x' }], ...spec },
    })

  it('refuses a Pod whose RuntimeClass is not there', async () => {
    const { code, body } = await pod('nowhere')
    expect([code, body.message]).toEqual([403, 'pods "p" is forbidden: pod rejected: RuntimeClass "nowhere" not found'])
  })

  it('gives a Pod the overhead and the nodes of its RuntimeClass', async () => {
    const tolerations = [{ key: 'kata', operator: 'Exists' }]
    const name = await runtimeClass({
      overhead: { podFixed: { cpu: '10m', memory: '1Mi' } },
      scheduling: { nodeSelector: { kata: 'yes' }, tolerations },
    })
    const { code, body } = await pod(name, { nodeSelector: { zone: 'a' } })
    expect([code, body['spec']]).toMatchObject([
      201,
      { overhead: { cpu: '10m', memory: '1Mi' }, nodeSelector: { zone: 'a', kata: 'yes' } },
    ])
    expect(body).toHaveProperty('spec.tolerations', expect.arrayContaining(tolerations))
  })

  it('refuses a Pod that says otherwise', async () => {
    const name = await runtimeClass({
      overhead: { podFixed: { cpu: '10m' } },
      scheduling: { nodeSelector: { kata: 'yes' } },
    })
    expect((await pod(name, { overhead: { cpu: '20m' } })).body.message).toBe(
      "pods \"p\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    )
    expect((await pod(name, { nodeSelector: { kata: 'no' } })).body.message).toContain(
      'conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no',
    )
    expect((await pod(undefined, { overhead: { cpu: '20m' } })).body.message).toBe(
      'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    )
  })
})
