import { describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ModelController } from '../model-controller.ts'
import { factsWith, modelWith } from '../plan-pods.fixture.ts'
import { planPods } from '../plan-pods.ts'
import { builtInProfiles } from '../resource-profile.ts'

const namespace = 'sluice'
const adapters = [{ name: 'sql', url: 'pvc://more/adapters/sql' }]

describe('names of a Model', () => {
  it('that others have are said by its status', () => {
    const model = modelWith({ aliases: ['gpt'] })
    const namesOf = (facts = factsWith(), asked: Model = model) =>
      planPods(asked, [], facts).status.conditions?.find(({ type }) => type === 'NamesServed')
    expect(namesOf()).toMatchObject({ status: 'True', reason: 'Served', message: 'Also served as gpt.' })
    const taken = factsWith({ takenNames: [{ name: 'gpt', by: 'older' }] })
    expect(namesOf(taken)).toMatchObject({ status: 'False', reason: 'Taken' })
    expect(namesOf(taken)?.message).toMatch(/^gpt is served by the Model older\./)
    const before = planPods(model, [], taken).status
    expect(namesOf(factsWith(), { ...modelWith(), status: before })).toBeUndefined()
  })

  it('go to the next oldest Model when they become free, which is an Event for who did not get them', async () => {
    const clock = new FakeClock()
    const kinds = [...coreKinds, ...customKinds]
    const client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds, clock }))
    const parts = { client, clock, log: silentLogger }
    const stopping = new AbortController()
    const models = new Informer({ ...parts, kind: modelKind })
    const pods = new Informer({ ...parts, kind: podKind })
    const secrets = new Informer({ ...parts, kind: secretKind, scope: { namespace } })
    const events: string[] = []
    const controller = new ModelController({
      ...parts,
      models,
      pods,
      secrets,
      events: { record: (_, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
      files: { check: () => ({ state: 'present' }) },
      registry: () => 'registry.local-1.localhost',
      version: '0.1.0',
      profiles: () => ({ table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] }),
      busy: () => 0,
    })
    await client.create(namespaceKind, { metadata: { name: namespace } })
    const running = [models, pods, secrets, controller].map((part) => part.run(stopping.signal))
    const add = async (name: string) => {
      const spec = { url: 'pvc://userdata/x', engine: 'LlamaCpp', aliases: ['gpt'] }
      await client.create(modelKind, { metadata: { name, namespace }, spec })
      await clock.advance(1_000)
    }
    const reasonOf = (name: string) =>
      models.get({ namespace, name })?.status?.conditions?.find(({ type }) => type === 'NamesServed')?.reason
    await add('zebra')
    await add('ant')
    await expect.poll(() => [reasonOf('zebra'), reasonOf('ant')]).toEqual(['Served', 'Taken'])
    expect(events).toContainEqual(expect.stringMatching(/^Warning NameTaken gpt is served by the Model zebra/))
    await client.delete(modelKind, { namespace, name: 'zebra' })
    await expect.poll(() => reasonOf('ant')).toBe('Served')
    stopping.abort()
    await Promise.all(running)
  })
})

describe('adapters of a Model', () => {
  it('are told to vLLM, with their claims mounted', () => {
    const spec = { engine: 'VLLM', replicas: 1, adapters, args: ['--max-lora-rank', '64'] }
    const [pod] = planPods(modelWith(spec), [], factsWith()).create
    const [container] = pod?.spec.containers ?? []
    expect(container?.args?.slice(-5)).toEqual([
      '--enable-lora',
      '--lora-modules',
      'm_sql=/mnt/adapters/more/adapters/sql',
      '--max-lora-rank',
      '64',
    ])
    expect(container?.volumeMounts).toContainEqual({
      name: 'adapters-0',
      mountPath: '/mnt/adapters/more',
      readOnly: true,
    })
    expect(pod?.spec.volumes).toContainEqual({
      name: 'adapters-0',
      persistentVolumeClaim: { claimName: 'more', readOnly: true },
    })
  })

  it('are refused for an engine that loads none, and it takes no card', () => {
    const { create, status } = planPods(modelWith({ replicas: 1, adapters }), [], factsWith())
    expect(create).toEqual([])
    expect(status.phase).toBe('Failed')
    expect(status.message).toBe(
      'The engine LlamaCpp loads no adapters; remove spec.adapters, or use one that does: VLLM.',
    )
  })
})
