import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseEngines } from '../../src/operator/engines/engine-file.ts'
import { modelPodSpec, newModelPod } from '../../src/operator/model-pod.ts'
import { parseProfiles } from '../../src/operator/profile-file.ts'
import { resolveProfile } from '../../src/operator/resource-profile.ts'
import { modelSchema } from '../../src/resources/model.ts'
import { podKind } from '../../src/resources/pod.ts'
import { runtimeClassKind } from '../../src/resources/runtime-class.ts'
import { onEachServer } from './on-each-server.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/engines.md'), 'utf8')
const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => parse(match[1] ?? '') as Record<string, object>)
const named = (section: string) => Object.assign({}, ...blocks.map((block) => block[section] ?? {})) as object
const written = named('engines')
const engines = parseEngines(
  // The rule about images is another test's.
  Object.fromEntries(
    Object.entries(written).map(([name, fields]) => [name, { ...(fields as object), image: ours(name) }]),
  ),
  'docs/reference/engines.md',
)
const table = parseProfiles(
  {
    ...named('profiles'),
    default: {
      card: 'nvidia.com/gpu',
      runtimeClassName: 'nvidia',
      sharedMemory: '1Gi',
      tolerations: [{ key: 'cards', operator: 'Exists' }],
      imagePullSecrets: ['ours'],
      weightsCache: { hostPath: '/var/cache/weights', size: '1Ti' },
    },
  },
  'docs/reference/engines.md',
)

/** Of its own: kinds without a namespace are shared with other tests. */
const runtime = 'cards-of-models'

function ours(name: string): string {
  return `registry.lab-1.localhost/${name.toLowerCase()}`
}

onEachServer((server) => {
  describe('the Pods of Models', () => {
    beforeAll(async () => {
      await server.client.create(runtimeClassKind, { metadata: { name: runtime }, handler: runtime })
    })
    afterAll(async () => server.client.delete(runtimeClassKind, { name: runtime }))

    const planned = (engine: string, profile: string) => {
      const model = modelSchema.parse({
        apiVersion: 'sluice.dev/v1',
        kind: 'Model',
        metadata: { name: 'm', namespace: server.namespace, uid: 'u' },
        spec: { url: 'pvc://userdata/models/m', engine, resourceProfile: `${profile}:2` },
      })
      const facts = { registry: 'registry.lab-1.localhost', version: '1', engines }
      const resolved = resolveProfile(profile, { table, cardKinds: [] })
      if (!resolved) throw new Error(`no profile ${profile}`)
      const runtimeClassName = resolved.runtimeClassName && runtime
      const spec = modelPodSpec(model, { ...resolved, images: {}, runtimeClassName }, facts)
      const template = { spec, hash: '0123456789' }
      const suffix = engine.toLowerCase().replace(/[^a-z]/g, '')
      const pod = newModelPod(model, template, { suffix, failures: 0, engineKey: 'key-1', engines })
      // Only controllers make Pods that a Model controls.
      const { ownerReferences: _owners, ...metadata } = pod.metadata
      return { ...pod, metadata }
    }

    it('are taken as they are, with every engine of docs/reference/engines.md and every profile', async () => {
      const profiles = Object.keys(table)
      for (const [index, engine] of Object.keys(engines).entries()) {
        const profile = profiles[index % profiles.length] ?? 'default'
        const pod = planned(engine, profile === 'nvidia.com/gpu-h800' ? 'default' : profile)
        const created = await server.client.create(podKind, pod)
        const [asked, got] = [pod.spec.containers[0], created.spec.containers[0]]
        expect(got).toMatchObject({ args: asked?.args, env: asked?.env, resources: asked?.resources })
        expect(created.spec.initContainers?.map(({ name, restartPolicy }) => ({ name, restartPolicy }))).toEqual(
          pod.spec.initContainers?.map(({ name, restartPolicy }) => ({ name, restartPolicy })),
        )
      }
    })

    it('may be given up while they start, once', async () => {
      const { metadata } = await server.client.create(podKind, planned('LlamaCpp', 'nvidia.com/gpu-l40s'))
      const ref = { namespace: server.namespace, name: metadata.name }
      const patch = {
        metadata: { uid: metadata.uid, annotations: { 'sluice.dev/stalled': 'no progress for 30 min' } },
        spec: { activeDeadlineSeconds: 1 },
      }
      expect(await server.client.patch(podKind, ref, patch)).toMatchObject({ spec: { activeDeadlineSeconds: 1 } })
      const other = { ...patch, metadata: { ...patch.metadata, uid: 'another' } }
      await expect(server.client.patch(podKind, ref, other)).rejects.toMatchObject({
        reason: expect.stringMatching(/^(?:Conflict|Invalid)$/),
      })
    })
  })
})
