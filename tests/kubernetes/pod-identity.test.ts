import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'
import type { WireObject } from './wire-object.ts'

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

interface Container {
  readonly name: string
  readonly volumeMounts?: ReadonlyArray<{
    readonly name: string
    readonly mountPath: string
    readonly readOnly?: boolean
  }>
}

interface PodSpec {
  readonly serviceAccountName?: string
  readonly serviceAccount?: string
  readonly volumes?: ReadonlyArray<{ readonly name: string; readonly projected?: unknown }>
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly imagePullSecrets?: unknown
}

onEachServer((server) => {
  const create = async (spec: Record<string, unknown> = {}): Promise<PodSpec> => {
    const containers = [{ name: 'c', image: server.image }]
    const body = { metadata: { generateName: 'p-' }, spec: { containers, ...spec } }
    return specOf(await server.ok('POST', server.path('pods'), body))
  }
  const account = (name: string, fields: Record<string, unknown> = {}) =>
    server.ok('POST', server.path('serviceaccounts'), { metadata: { name }, ...fields })

  describe('a Pod', () => {
    it('acts as the default service account and finds its token where programs look', async () => {
      const spec = await create({ initContainers: [{ name: 'i', image: server.image }] })
      expect([spec.serviceAccountName, spec.serviceAccount]).toEqual(['default', 'default'])
      const [volume] = spec.volumes ?? []
      expect(volume?.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/)
      expect(volume?.projected).toEqual({
        defaultMode: 420,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      })
      for (const { volumeMounts } of [...spec.containers, ...(spec.initContainers ?? [])]) {
        expect(volumeMounts).toEqual([{ name: volume?.name, readOnly: true, mountPath }])
      }
    })

    it('gets no token when it, or its account, wants none', async () => {
      expect((await create({ automountServiceAccountToken: false })).volumes).toBeUndefined()
      await account('quiet', { automountServiceAccountToken: false })
      expect((await create({ serviceAccountName: 'quiet' })).volumes).toBeUndefined()
      const insisting = await create({ serviceAccountName: 'quiet', automountServiceAccountToken: true })
      expect(insisting.volumes).toHaveLength(1)
    })

    it('keeps what it mounts there itself', async () => {
      const mine = { name: 'mine', emptyDir: {} }
      const mounts = [{ name: 'mine', mountPath }]
      const containers = [
        { name: 'own', image: server.image, volumeMounts: mounts },
        { name: 'other', image: server.image },
      ]
      const some = await create({ containers, volumes: [mine] })
      expect(some.volumes?.map(({ name }) => name)).toEqual(['mine', expect.stringMatching(/^kube-api-access-/)])
      expect(some.containers[0]?.volumeMounts).toEqual(mounts)
      expect(some.containers[1]?.volumeMounts).toMatchObject([{ mountPath, readOnly: true }])
      const all = await create({ containers: containers.slice(0, 1), volumes: [mine] })
      expect(all.volumes).toEqual([mine])
    })

    it('takes the pull secrets of its account, unless it has its own', async () => {
      await account('puller', { imagePullSecrets: [{ name: 'registry' }] })
      expect((await create({ serviceAccountName: 'puller' })).imagePullSecrets).toEqual([{ name: 'registry' }])
      const own = await create({ serviceAccountName: 'puller', imagePullSecrets: [{ name: 'mine' }] })
      expect(own.imagePullSecrets).toEqual([{ name: 'mine' }])
    })

    it('cannot act as an account that is not there', async () => {
      const spec = { serviceAccountName: 'nobody', containers: [{ name: 'c', image: server.image }] }
      const answer = await server.http('POST', server.path('pods'), { metadata: { name: 'p' }, spec })
      const why = `error looking up service account ${server.namespace}/nobody: serviceaccount "nobody" not found`
      expect([answer.code, answer.body.reason, answer.body.message]).toEqual([
        403,
        'Forbidden',
        `pods "p" is forbidden: ${why}`,
      ])
    })
  })
})

function specOf(pod: WireObject): PodSpec {
  return pod['spec'] as PodSpec
}
