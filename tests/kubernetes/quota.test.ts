import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

const card = 'nvidia.com/gpu-l40s'

onEachServer((server) => {
  const pod = (name: string, resources: Record<string, unknown> = {}, spec: Record<string, unknown> = {}) => ({
    metadata: { name },
    spec: { containers: [{ name: 'c', image: server.image, resources }], ...spec },
  })
  const post = (resource: string, body: unknown, group = 'v1') =>
    server.http('POST', server.path(resource, group), body)

  /**
   * Creates a quota, which is in force once its status says how much is used; a controller writes that where there is
   * one.
   */
  const limit = async (hard: Record<string, string>, spec: Record<string, unknown> = {}) => {
    const quota = await server.ok('POST', server.path('resourcequotas'), {
      metadata: { name: 'q' },
      spec: { hard, ...spec },
    })
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, name === 'resourcequotas' ? '1' : '0']))
    await server.ok('PUT', server.path('resourcequotas/q/status'), { ...quota, status: { hard, used } })
    const probe = pod('probe', { limits: { cpu: '1m', memory: '1Mi' } })
    await askUntil(
      () => server.http('POST', server.path('pods?dryRun=All'), probe),
      ({ code, body }) => code !== 403 || !body.message.includes('status unknown'),
    )
  }
  const refusal = (kind: string, name: string, why: string) => [
    403,
    'Forbidden',
    `${kind} "${name}" is forbidden: ${why}`,
  ]
  const told = ({ code, body }: Awaited<ReturnType<typeof post>>) => [code, body.reason, body.message]

  describe('a ResourceQuota', () => {
    it('lets in what fits and says by how much the rest does not', async () => {
      await limit({ pods: '2', 'requests.cpu': '1', 'limits.memory': '1Gi', [`requests.${card}`]: '1' })
      const small = { requests: { cpu: '250m' }, limits: { memory: '256Mi', [card]: '1' } }
      expect((await post('pods', pod('a', small))).code).toBe(201)
      expect(told(await post('pods', pod('b', small)))).toEqual(
        refusal(
          'pods',
          'b',
          `exceeded quota: q, requested: requests.${card}=1, used: requests.${card}=1, limited: requests.${card}=1`,
        ),
      )
      const large = { requests: { cpu: '1' }, limits: { memory: '900Mi' } }
      expect(told(await post('pods', pod('b', large)))).toEqual(
        refusal(
          'pods',
          'b',
          'exceeded quota: q, requested: limits.memory=900Mi,requests.cpu=1, used: limits.memory=256Mi,requests.cpu=250m, limited: limits.memory=1Gi,requests.cpu=1',
        ),
      )
      const rest = { requests: { cpu: '750m' }, limits: { memory: '768Mi' } }
      expect((await post('pods', pod('b', rest))).code).toBe(201)
      expect(told(await post('pods', pod('c', { requests: { cpu: '0' }, limits: { memory: '0' } })))).toEqual(
        refusal('pods', 'c', 'exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'),
      )
    })

    it('wants to know what every container needs', async () => {
      await limit({ cpu: '1', 'limits.memory': '1Gi' })
      const containers = [
        { name: 'x', image: server.image, resources: { requests: { cpu: '1m' } } },
        { name: 'y', image: server.image, resources: { limits: { memory: '1Mi' } } },
      ]
      expect(told(await post('pods', pod('a', {}, { containers })))).toEqual(
        refusal('pods', 'a', 'failed quota: q: must specify cpu for: y; limits.memory for: x'),
      )
    })

    it('counts init containers by the one that needs most, and those that stay with the others', async () => {
      await limit({ 'requests.cpu': '1' })
      const needs = (name: string, cpu: string, fields = {}) => ({
        name,
        image: server.image,
        resources: { requests: { cpu } },
        ...fields,
      })
      const spec = {
        containers: [needs('c', '200m')],
        initContainers: [needs('stays', '300m', { restartPolicy: 'Always' }), needs('first', '700m')],
      }
      expect((await post('pods', pod('a', {}, spec))).code).toBe(201)
      expect(told(await post('pods', pod('b', { requests: { cpu: '1m' } })))).toEqual(
        refusal(
          'pods',
          'b',
          'exceeded quota: q, requested: requests.cpu=1m, used: requests.cpu=1, limited: requests.cpu=1',
        ),
      )
    })

    it('is never exceeded, however many come at once', async () => {
      await limit({ pods: '3' })
      const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => post('pods', pod(`p-${index}`))))
      expect(answers.filter(({ code }) => code === 201)).toHaveLength(3)
      expect(answers.filter(({ code }) => code === 403)).toHaveLength(9)
      const { items } = await server.ok('GET', server.path('pods'))
      expect(items).toHaveLength(3)
    })

    it('counts objects of any kind, under either name', async () => {
      await limit({ configmaps: '1', 'count/deployments.apps': '0', 'count/models.sluice.dev': '0', services: '1' })
      expect((await post('configmaps', { metadata: { name: 'a' } })).code).toBe(201)
      expect(told(await post('configmaps', { metadata: { name: 'b' } }))).toEqual(
        refusal(
          'configmaps',
          'b',
          'exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
        ),
      )
      const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: server.image }] } }
      const deployment = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }
      const name = 'count/deployments.apps'
      expect(told(await post('deployments', deployment, 'apps/v1'))).toEqual(
        refusal(
          'deployments.apps',
          'd',
          `exceeded quota: q, requested: ${name}=1, used: ${name}=0, limited: ${name}=0`,
        ),
      )
      expect(told(await post('models', model('m'), 'sluice.dev/v1'))).toEqual(
        refusal(
          'models.sluice.dev',
          'm',
          'exceeded quota: q, requested: count/models.sluice.dev=1, used: count/models.sluice.dev=0, limited: count/models.sluice.dev=0',
        ),
      )
      const service = (named: string) => ({ metadata: { name: named }, spec: { ports: [{ port: 80 }] } })
      expect((await post('services', service('a'))).code).toBe(201)
      expect((await post('services', service('b'))).body.message).toContain('requested: services=1, used: services=1')
    })

    it('counts claims and what they ask for', async () => {
      await limit({
        persistentvolumeclaims: '2',
        'requests.storage': '10Gi',
        'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
      })
      const claim = (name: string, storage: string, storageClassName?: string) => ({
        metadata: { name },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName },
      })
      expect((await post('persistentvolumeclaims', claim('a', '6Gi'))).code).toBe(201)
      expect((await post('persistentvolumeclaims', claim('b', '5Gi'))).body.message).toContain(
        'exceeded quota: q, requested: requests.storage=5Gi, used: requests.storage=6Gi, limited: requests.storage=10Gi',
      )
      expect((await post('persistentvolumeclaims', claim('b', '2Gi', 'gold'))).body.message).toContain(
        'requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi',
      )
    })

    it('is about those Pods alone that are in its scopes', async () => {
      await limit({ pods: '1' }, { scopes: ['BestEffort', 'NotTerminating'] })
      const burstable = { requests: { cpu: '1m' } }
      expect((await post('pods', pod('a'))).code).toBe(201)
      expect((await post('pods', pod('b'))).code).toBe(403)
      expect((await post('pods', pod('c', burstable))).code).toBe(201)
      expect((await post('pods', pod('d', {}, { activeDeadlineSeconds: 60 }))).code).toBe(201)
    })

    it('is checked by a dry run, which uses nothing', async () => {
      await limit({ pods: '1' })
      expect((await post('pods?dryRun=All', pod('a'))).code).toBe(201)
      expect((await post('pods', pod('a'))).code).toBe(201)
      expect((await post('pods?dryRun=All', pod('b'))).code).toBe(403)
    })
  })
})
