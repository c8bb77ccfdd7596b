import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

interface ServiceSpec {
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly [field: string]: unknown
}

onEachServer((server) => {
  const service = (name: string, spec: Record<string, unknown> = {}) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], selector: { app: 'a' }, ...spec },
  })
  const create = async (name: string, spec: Record<string, unknown> = {}) =>
    (await server.ok('POST', server.path('services'), service(name, spec)))['spec'] as ServiceSpec

  describe('a Service', () => {
    it('gets an address of its own, which stays whatever is changed', async () => {
      const { clusterIP, ...spec } = await create('a')
      expect(clusterIP).toMatch(/^10\.96\./)
      expect(spec).toEqual({
        clusterIPs: [clusterIP],
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
        selector: { app: 'a' },
        sessionAffinity: 'None',
        type: 'ClusterIP',
      })
      const there = await server.ok('GET', server.path('services/a'))
      const replaced = await server.ok('PUT', server.path('services/a'), {
        ...service('a', { ports: [{ port: 81 }] }),
        metadata: { name: 'a', resourceVersion: there.metadata.resourceVersion },
      })
      expect(replaced['spec']).toMatchObject({ clusterIP, clusterIPs: [clusterIP], ports: [{ port: 81 }] })
      const unset = await server.patch(server.path('services/a'), 'merge', { spec: { clusterIP: null } })
      expect(unset.body['spec']).toMatchObject({ clusterIP, clusterIPs: [clusterIP] })
      for (const address of ['10.96.200.200', 'None']) {
        const changed = await server.patch(server.path('services/a'), 'merge', { spec: { clusterIP: address } })
        expect([changed.code, changed.body.message]).toEqual([
          422,
          `Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["${address}"]: may not change once set`,
        ])
      }
    })

    it('never shares its address, however many are made at once', async () => {
      const made = await Promise.all(Array.from({ length: 20 }, (_, index) => create(`s-${index}`)))
      expect(new Set(made.map(({ clusterIP }) => clusterIP)).size).toBe(20)
      const wanted = '10.96.0.77'
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          server.http('POST', server.path('services'), service(`w-${index}`, { clusterIP: wanted })),
        ),
      )
      expect(answers.map(({ code }) => String(code)).sort()).toEqual(['201', '422', '422', '422', '422'])
      const why = `spec.clusterIPs: Invalid value: ["${wanted}"]: failed to allocate IP ${wanted}: provided IP is already allocated`
      expect(answers.find(({ code }) => code === 422)?.body.message).toContain(why)
      const holder = answers.find(({ code }) => code === 201)?.body.metadata.name ?? ''
      await server.ok('DELETE', server.path(`services/${holder}`))
      expect((await eventually(() => tryCreate(server, service('next', { clusterIP: wanted })))).code).toBe(201)
    })

    it('asked for with a dry run takes no address', async () => {
      const wanted = service('a', { clusterIP: '10.96.0.78' })
      expect((await server.http('POST', server.path('services?dryRun=All'), wanted)).code).toBe(201)
      expect((await eventually(() => tryCreate(server, wanted))).code).toBe(201)
    })

    it.each([
      [
        { clusterIP: '1.2.3.4' },
        'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range',
      ],
      [
        { clusterIP: '10.96.0.0' },
        'failed to allocate IP 10.96.0.0: the provided network does not match the current range',
      ],
      [
        { clusterIP: 'fd00::1' },
        'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
      ],
      [
        { clusterIPs: ['10.96.5.6'] },
        'spec.clusterIPs: Invalid value: ["10.96.5.6"]: must be empty when `clusterIP` is not specified',
      ],
      [
        { clusterIP: '10.96.5.8', clusterIPs: ['10.96.5.7'] },
        'spec.clusterIPs: Invalid value: ["10.96.5.7"]: first value must match `clusterIP`',
      ],
      [
        { ipFamilyPolicy: 'RequireDualStack' },
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
      ],
      [{ ipFamilies: ['IPv6'] }, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
      [
        { internalTrafficPolicy: 'Never' },
        'spec.internalTrafficPolicy: Unsupported value: "Never": supported values: "Cluster", "Local"',
      ],
      [
        { type: 'ExternalName', externalName: 'x.y', ipFamilies: ['IPv4'] },
        'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
      ],
    ])('cannot be had with %o', async (spec, why) => {
      const answer = await server.http('POST', server.path('services'), service('a', spec))
      expect([answer.code, answer.body.message]).toEqual([422, expect.stringContaining(why) as string])
    })

    it('without an address may lead to any family, when nobody says whom it selects', async () => {
      expect(await create('a', { clusterIP: 'None' })).toMatchObject({
        clusterIPs: ['None'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      })
      expect(await create('b', { clusterIP: 'None', selector: undefined })).toMatchObject({
        clusterIPs: ['None'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'RequireDualStack',
      })
      expect(await create('c', { ipFamilyPolicy: 'PreferDualStack' })).toMatchObject({
        clusterIPs: [expect.stringMatching(/^10\.96\./) as string],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'PreferDualStack',
      })
    })

    it('gives its address back when it becomes a name for something outside, and gets one when it returns', async () => {
      await create('a')
      const outside = { spec: { type: 'ExternalName', externalName: 'x.y' } }
      const gone = await server.patch(server.path('services/a'), 'merge', outside)
      expect(gone.body['spec']).toEqual({
        externalName: 'x.y',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
        selector: { app: 'a' },
        sessionAffinity: 'None',
        type: 'ExternalName',
      })
      const inside = { spec: { type: 'ClusterIP', externalName: null } }
      const back = await server.patch(server.path('services/a'), 'merge', inside)
      expect(back.body['spec']).toMatchObject({
        type: 'ClusterIP',
        clusterIP: expect.stringMatching(/^10\.96\./) as string,
      })
    })

    it('of the API server is there', async () => {
      const { metadata, spec } = await server.ok('GET', '/api/v1/namespaces/default/services/kubernetes')
      expect(metadata.labels).toEqual({ component: 'apiserver', provider: 'kubernetes' })
      expect(spec).toMatchObject({ clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] })
    })
  })
})

function tryCreate(server: ContractServer, body: unknown) {
  return server.http('POST', server.path('services'), body)
}

/** A real server releases an address a moment later. */
function eventually<T extends { readonly code: number }>(attempt: () => Promise<T>): Promise<T> {
  return askUntil(attempt, ({ code }) => code < 300)
}
