import { expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  it('takes what is said about an object together with its status', async () => {
    const ingresses = server.path('ingresses', 'networking.k8s.io/v1')
    const spec = { defaultBackend: { service: { name: 'web', port: { number: 80 } } } }
    await server.ok('POST', ingresses, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'a' },
      spec,
    })
    const loadBalancer = { ingress: [{ ip: '192.0.2.1' }] }
    const { code, body } = await server.patch(`${ingresses}/a/status`, 'merge', {
      metadata: { annotations: { seen: 'yes' }, labels: { tier: 'front' } },
      spec: { ingressClassName: 'other' },
      status: { loadBalancer },
    })
    expect([code, body['spec'], body['status']]).toEqual([200, spec, { loadBalancer }])
    expect(body['metadata']).toMatchObject({ annotations: { seen: 'yes' }, labels: { tier: 'front' }, generation: 1 })
  })

  it('refuses annotations that no object may have there, too', async () => {
    const services = server.path('services')
    const manifest = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } }
    await server.ok('POST', services, manifest)
    const metadata = { annotations: { 'a b': 'c' } }
    const { code } = await server.patch(`${services}/a/status`, 'merge', { metadata, status: {} })
    expect(code).toBe(422)
  })

  it('leaves the labels of a Deployment to those who may change it', async () => {
    const deployments = server.path('deployments', 'apps/v1')
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'a', image: 'registry.lab-1.localhost/x' }] },
    }
    await server.ok('POST', deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a', labels: { a: 'b' } },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
    })
    const metadata = { labels: { a: 'c' }, annotations: { seen: 'yes' } }
    const { body } = await server.patch(`${deployments}/a/status`, 'merge', { metadata, status: {} })
    expect(body['metadata']).toMatchObject({ labels: { a: 'b' }, annotations: { seen: 'yes' } })
  })
})
