import { expect, it } from 'vitest'
import { configMapKind } from '../../src/resources/config-map.ts'
import { podKind } from '../../src/resources/pod.ts'
import { replicaSetKind } from '../../src/resources/replica-set.ts'
import { keepReady, soon, withControllers } from './controllers.ts'
import { configMap, deployment } from './objects.ts'
import type { WireObject } from './wire-object.ts'

const reference = ({ kind, apiVersion, metadata }: WireObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
})

withControllers((server) => {
  const here = () => ({ namespace: server.namespace })
  const pods = async () => (await server.client.list(podKind, here())).items.length
  const sets = async () => (await server.client.list(replicaSetKind, here())).items
  const owned = async (name: string) => server.client.get(configMapKind, { ...here(), name })

  const ready = async () => {
    await server.ok('POST', server.path('deployments', 'apps/v1'), deployment('web', server.image))
    await keepReady(server, async () => (await pods()) === 2)
  }

  it('an owner deleted in the foreground goes after all that it owns, generation by generation', async () => {
    await ready()
    const { items } = await server.ok('GET', server.path('pods'))
    const hold = (finalizers: string[] | null) =>
      server.patch(server.path(`pods/${items[0]?.metadata.name}`), 'merge', { metadata: { finalizers } })
    await hold(['test/hold'])
    await server.kubectl('delete deployment web --cascade=foreground --wait=false')
    await expect.poll(pods, soon).toBe(1)
    const [set] = await sets()
    expect(set?.metadata.finalizers).toEqual(['foregroundDeletion'])
    const kept = await server.ok('GET', server.path('deployments/web', 'apps/v1'))
    expect(kept.metadata['finalizers']).toEqual(['foregroundDeletion'])
    await hold(null)
    await expect
      .poll(async () => (await server.http('GET', server.path('deployments/web', 'apps/v1'))).code, soon)
      .toBe(404)
    expect(await sets()).toEqual([])
  })

  it('what an owner leaves behind is taken in by its successor', async () => {
    await ready()
    await server.kubectl('delete deployment web --cascade=orphan')
    const owners = async () => (await sets()).map(({ metadata }) => metadata.ownerReferences)
    await expect.poll(owners, soon).toEqual([undefined])
    expect(await pods()).toBe(2)
    const next = await server.ok('POST', server.path('deployments', 'apps/v1'), deployment('web', server.image))
    await expect.poll(owners, soon).toMatchObject([[{ kind: 'Deployment', uid: next.metadata.uid, controller: true }]])
    expect(await pods()).toBe(2)
    await server.kubectl('delete deployment web')
    await expect.poll(pods, soon).toBe(0)
  })

  it('what has two owners stays with the one that is left, and goes with it', async () => {
    const create = (name: string, owners: WireObject[] = []) =>
      server.ok('POST', server.path('configmaps'), {
        ...configMap(name),
        metadata: { name, ownerReferences: owners.map(reference) },
      })
    const [a, b] = [await create('a'), await create('b')]
    await create('c', [a, b])
    await server.ok('DELETE', server.path('configmaps/a'))
    await expect
      .poll(async () => (await owned('c'))?.metadata.ownerReferences?.map(({ name }) => name), soon)
      .toEqual(['b'])
    await server.ok('DELETE', server.path('configmaps/b'))
    await expect.poll(() => owned('c'), soon).toBeUndefined()
  })

  it('three that own each other in a circle go together when one of them is deleted in the foreground', async () => {
    const names = ['a', 'b', 'c'] as const
    const path = (name: string) => server.path(`pods/${name}`)
    const spec = { containers: [{ name: 'main', image: server.image }] }
    const made = await Promise.all(
      names.map((name) =>
        server.ok('POST', server.path('pods'), { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }),
      ),
    )
    for (const [index, name] of names.entries()) {
      const owner = made.at(index - 1)
      const ownerReferences = owner ? [{ ...reference(owner), blockOwnerDeletion: true }] : []
      await server.patch(path(name), 'merge', { metadata: { ownerReferences } })
    }
    await server.ok('DELETE', path('a'), { propagationPolicy: 'Foreground', gracePeriodSeconds: 0 })
    await expect.poll(pods, soon).toBe(0)
  })
})
