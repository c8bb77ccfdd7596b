import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { modelKind } from '../../src/resources/model.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { isPodReady, podKind } from '../../src/resources/pod.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { kubectlPath, runProgram } from '../support/programs.ts'
import { until } from '../support/sluice-process.ts'

const card = 'nvidia.com/gpu-l40s'
const folder = fileURLToPath(new URL('../../', import.meta.url))
const command = [process.execPath, join(folder, 'bin/sluice.mjs'), 'serve']
const visible = ['bin', 'node_modules', 'package.json', 'src'].map((name) => join(folder, name))

/** This machine has no vLLM, so `sluice serve` stands in for it: it has the same flags and HTTP interface. */
const config = {
  images: { 'registry.local-1.localhost/sluice/vllm': { command, visible } },
  profiles: {
    [card]: { requests: { cpu: '100m' } },
    [`${card}-elsewhere`]: { card, nodeSelector: { zone: 'elsewhere' } },
  },
}

const stage = new ModelStage(['--gpus', `${card}=2`])
stage.addFlags('--config', join(stage.data, 'config.yaml'))

const message = async (name: string, pattern: RegExp) =>
  (await stage.untilModel(name, ({ status }) => pattern.test(status?.message ?? ''))).status
const ready = (name: string) => stage.untilModel(name, ({ status }) => status?.phase === 'Ready')

describe('Models on a cluster', () => {
  beforeAll(async () => {
    writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
    await stage.start()
    await stage.addFile('models/tiny')
  })
  afterAll(() => stage.destroy())
  afterEach(async () => {
    const { items } = await stage.client.list(modelKind, { namespace })
    for (const { metadata } of items) await stage.client.delete(modelKind, { namespace, name: metadata.name })
    await until('nothing to be left', 30_000, async () => {
      return (await stage.pods()).length === 0 && stage.processes().size === 0
    })
  })

  it('says that the files are missing before any Pod, and serves when they arrive', async () => {
    await stage.create('late', { url: 'pvc://userdata/models/late' })
    expect(await message('late', /./)).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('There is nothing at pvc://userdata/models/late'),
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'FilesPresent', status: 'False' })]),
    })
    expect(await stage.pods()).toEqual([])
    await stage.addFile('models/late')
    await ready('late')
    rmSync(join(stage.folder, 'models/late'), { recursive: true })
  })

  it('says that no card is free, and serves when one is', async () => {
    await stage.create('first', {
      engine: 'VLLM',
      resourceProfile: `${card}:2`,
      args: ['--gpu-memory-utilization', '0.9'],
    })
    await ready('first')
    await stage.create('second')
    expect(await message('second', /room/)).toMatchObject({
      phase: 'Waking',
      message: expect.stringMatching(/^No node has room yet: .*nvidia\.com\/gpu-l40s/),
    })
    await stage.client.delete(modelKind, { namespace, name: 'first' })
    await ready('second')
  })

  it('names the profiles it knows, and puts a Pod where its profile says', async () => {
    await stage.create('unknown', { resourceProfile: 'nvidia.com/gpu-b1:1' })
    expect(await message('unknown', /known/)).toMatchObject({
      phase: 'Failed',
      message: `The resource profile nvidia.com/gpu-b1 is not known here. Known: default, nvidia.com/gpu-h800, ${card}, ${card}-elsewhere.`,
    })
    await stage.create('elsewhere', { resourceProfile: `${card}-elsewhere:1` })
    expect(await message('elsewhere', /room/)).toMatchObject({ message: expect.stringMatching(/selector|affinity/) })
    const [pod] = await stage.pods()
    expect(pod?.spec).toMatchObject({ nodeSelector: { zone: 'elsewhere' } })
    await stage.create('plain', { resourceProfile: `${card}:1` })
    const placed = await stage.untilPod(({ spec }) => spec.nodeName !== undefined)
    expect(placed.spec.containers[0]?.resources?.requests).toMatchObject({ cpu: '100m', [card]: '1' })
  })

  it('says that no node has its cards, refuses requests at once, and can be woken when such a node comes', async () => {
    await stage.create('large', { resourceProfile: 'nvidia.com/gpu-h800:8', minReplicas: 0 })
    // Who asks before that is known is refused as well, but has woken it for when it can start.
    expect(await message('large', /./)).toMatchObject({ phase: 'Failed', message: 'No node has nvidia.com/gpu-h800.' })
    const refused = await stage.chat('large')
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({
      error: { code: 'model_unavailable', message: 'The model large cannot start: No node has nvidia.com/gpu-h800.' },
    })
    const capacity = { 'nvidia.com/gpu-h800': '8', cpu: '8', memory: '64Gi', pods: '10' }
    await stage.client.create(nodeKind, { metadata: { name: 'arriving' }, status: { capacity, allocatable: capacity } })
    await stage.untilModel('large', ({ status }) => status?.phase === 'Asleep')
    await stage.client.delete(nodeKind, { name: 'arriving' })
    await stage.untilModel('large', ({ status }) => status?.phase === 'Failed')
  })

  it.skipIf(kubectlPath === undefined)('warns whoever applies a Model that no node can hold', async () => {
    const apply = async (resourceProfile: string) => {
      const manifest = {
        apiVersion: 'sluice.dev/v1',
        kind: 'Model',
        metadata: { name: 'warned', namespace },
        spec: { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', resourceProfile },
      }
      writeFileSync(join(stage.data, 'warned.json'), JSON.stringify(manifest))
      const args = ['--kubeconfig', stage.sluice.kubeconfig, 'apply', '-f', join(stage.data, 'warned.json')]
      return runProgram(kubectlPath ?? '', args)
    }
    expect((await apply('nvidia.com/gpu-h800:1')).stderr).toBe('Warning: No node has nvidia.com/gpu-h800.\n')
    expect((await apply(`${card}:1`)).stderr).toBe('')
  })

  it.each(['pvc://userdata/../x', 'pvc://userdata/a/%2e%2e/x', 'pvc://userdata/a//x', 'pvc://userdata/a/..%2fx'])(
    'refuses %s',
    async (url) => {
      await expect(stage.create('escape', { url })).rejects.toThrow(/spec\.url/)
    },
  )

  it('refuses a path that leaves its claim through a link', async () => {
    symlinkSync('/etc', join(stage.folder, 'models/etc'))
    await stage.create('linked', { url: 'pvc://userdata/models/etc' })
    expect(await message('linked', /./)).toMatchObject({ message: expect.stringContaining('leads out of the claim') })
    expect(await stage.pods()).toEqual([])
  })

  it('rolls a change so that somebody always answers', async () => {
    await stage.create('steady')
    const { metadata: old } = await stage.untilPod(isPodReady)
    await ready('steady')
    await stage.client.patch(modelKind, { namespace, name: 'steady' }, { spec: { args: ['--max-model-len', '512'] } })
    const statuses = new Set<number>()
    await until('the new Pod alone', 60_000, async () => {
      statuses.add((await stage.chat('steady')).status)
      const pods = await stage.pods()
      return pods.length === 1 && pods.every(({ metadata }) => metadata.uid !== old.uid)
    })
    statuses.add((await stage.chat('steady')).status)
    expect([...statuses]).toEqual([200])
  })

  it('has the program sluice in its image, as the documentation of its commands writes them', async () => {
    const image = 'registry.local-1.localhost/sluice/sluice:1'
    const command = ['sluice', 'serve', '--help']
    const metadata = { name: 'as-documented', namespace }
    const containers = [{ name: 'main', image, command }]
    await stage.client.create(podKind, { metadata, spec: { restartPolicy: 'Never', containers } })
    const ended = await stage.untilPod(({ status }) => /Succeeded|Failed/.test(status?.phase ?? ''))
    expect(ended.status?.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 0 } })
    await stage.client.delete(podKind, metadata)
  })

  it.skipIf(kubectlPath === undefined)('runs on a node with a role', async () => {
    const nodes = await runProgram(kubectlPath ?? '', ['--kubeconfig', stage.sluice.kubeconfig, 'get', 'nodes'])
    expect(nodes.stdout).toMatch(/ Ready +control-plane,worker /)
  })
})
