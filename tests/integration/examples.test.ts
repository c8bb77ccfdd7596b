import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubernetesClient } from '../../src/cluster/kubernetes-client.ts'
import { profileResources, resolveProfile } from '../../src/operator/resource-profile.ts'
import { readConfigFile } from '../../src/platform/data/config-file.ts'
import { modelKind } from '../../src/resources/model.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { administratorOf, figuresOf, untilPhase } from '../support/cluster-stage.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { kubectlPath, runProgram } from '../support/programs.ts'
import { until } from '../support/sluice-process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const examples = join(root, 'examples')
const sluiceProgram = join(root, 'bin/sluice')
const [l40s, h800] = ['nvidia.com/gpu-l40s', 'nvidia.com/gpu-h800']
const small = { requests: { cpu: '50m', memory: '64Mi' } }
/** On a machine of any size, and without vLLM: `sluice serve` has the same flags and HTTP interface. */
const config = {
  images: {
    'registry.local-1.localhost/sluice/vllm': {
      command: [process.execPath, join(root, 'bin/sluice.mjs'), 'serve'],
      visible: ['bin', 'node_modules', 'package.json', 'src'].map((name) => join(root, name)),
    },
  },
  profiles: { default: small, [l40s]: small, [h800]: small },
}

const stage = new ModelStage(['--gpus', `${l40s}=6,${h800}=17`, '--require-api-keys'])
stage.addFlags('--config', join(stage.data, 'config.json'))
let key = ''

const kubectl = (...words: string[]) =>
  runProgram(kubectlPath ?? '', ['--kubeconfig', stage.sluice.kubeconfig, ...words])

/** As its reader does it; what is applied a second time is as it should be. */
async function apply(name: string): Promise<void> {
  const first = await kubectl('apply', '-f', join(examples, name))
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const second = await kubectl('apply', '-f', join(examples, name))
  expect(second.stdout.trimEnd().split('\n')).toEqual(
    first.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ created$/, ' unchanged')),
  )
}

async function ask(model: string, bearer = key): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${stage.sluice.endpoints.gateway}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 2 }),
    signal: AbortSignal.timeout(120_000),
  })
  return { status: answer.status, text: await answer.text() }
}

describe.skipIf(kubectlPath === undefined)('the examples (with kubectl)', () => {
  beforeAll(async () => {
    writeFileSync(join(stage.data, 'config.json'), JSON.stringify(config))
    await stage.start()
    await stage.addFile('models/smollm2')
    const made = await runProgram(sluiceProgram, ['key', 'create', 'tester', '--data', stage.data])
    key = made.stdout.trim()
  })
  afterAll(() => stage.destroy())

  it('are all tried here, and listed in their README', () => {
    const here = readFileSync(fileURLToPath(import.meta.url), 'utf8')
    const page = readFileSync(join(examples, 'README.md'), 'utf8')
    const files = readdirSync(examples).filter((name) => name !== 'README.md')
    expect(files.length).toBeGreaterThan(6)
    for (const file of files) {
      expect(here).toContain(`'${file}'`)
      expect(page).toContain(`[${file}](${file})`)
    }
  })

  it('serve a Model of each profile when somebody asks, on the card that it names', async () => {
    await apply('models.yaml')
    for (const [model, card] of [
      ['chat-default', l40s],
      ['chat-l40s', l40s],
      ['chat-h800', h800],
    ] as const) {
      expect(await ask(model)).toMatchObject({ status: 200 })
      const [pod] = (await stage.pods()).filter(({ metadata }) => metadata.labels?.['sluice.dev/model'] === model)
      expect(pod?.spec.containers[0]?.resources?.limits).toMatchObject({ [card]: '1' })
    }
  })

  it('serve without the gateway, and at a host of their own', async () => {
    await apply('direct-service.yaml')
    await apply('exposure.yaml')
    const rollout = ['rollout', 'status', 'deployment/chat-direct', '-n', namespace, '--timeout=50s']
    expect(await kubectl(...rollout)).toMatchObject({ code: 0 })
    const exporter = await stage.client.get(serviceExporterKind, { namespace, name: 'chat-direct' })
    const { ca, clusterId } = stage.sluice.endpoints
    expect(exporter?.status?.url).toContain(`https://chat-direct-x-${namespace}-x-${clusterId}.local-1.localhost:`)
    const body = { model: '/data/models/smollm2', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 2 }
    const send = ['-sS', '--cacert', ca, '-H', 'content-type: application/json', '-d', JSON.stringify(body)]
    await until('the exposed service to answer', 30_000, async () => {
      const { stdout } = await runProgram('curl', [...send, `${exporter?.status?.url}/v1/chat/completions`])
      return stdout.includes('"object":"chat.completion"')
    })
  })

  it('give a key to some Models, once the hash of a secret is in it', async () => {
    await apply('api-key.yaml')
    const secret = randomBytes(32).toString('hex')
    expect(await ask('chat-default', `sk-webshop0001-${secret}`)).toMatchObject({ status: 401 })
    const hash = createHash('sha256').update(secret).digest('hex')
    const text = readFileSync(join(examples, 'api-key.yaml'), 'utf8')
    const mine = text.replace(/0{64}/, hash).replace('disabled: true', 'disabled: false')
    writeFileSync(join(stage.data, 'key.yaml'), mine)
    await kubectl('apply', '-f', join(stage.data, 'key.yaml'))
    await until('the key to count', 10_000, async () => {
      return (await ask('chat-default', `sk-webshop0001-${secret}`)).status === 200
    })
    expect((await ask('chat-h800', `sk-webshop0001-${secret}`)).status).toBe(403)
    await until('the Event about it', 10_000, async () => {
      const { stdout } = await kubectl('events', '-n', 'default', '--for', 'apikey/web-shop')
      return /KeyCreated[^]*KeyEnabled|KeyEnabled[^]*KeyCreated/.test(stdout)
    })
  })

  it('make two further clusters, each with its share of the cards', async () => {
    await apply('two-clusters.yaml')
    const { sluice } = stage
    const clients: KubernetesClient[] = []
    try {
      for (const name of ['team-a', 'team-b']) {
        const home = stage.client as KubernetesClient
        const cluster = await untilPhase(home, name, 'Running')
        const { client } = await administratorOf(sluice, name)
        clients.push(client)
        const [node] = (await client.list(nodeKind)).items
        expect(node?.status?.capacity).toMatchObject({ cpu: '1', [l40s]: '1' })
        const figures = await figuresOf(sluice, cluster.status?.id ?? '')
        const share = figures.data?.utilizationRate.gpu.find(({ name: kind }) => kind === l40s)
        expect(share).toMatchObject({ hard: 1, used: 0 })
      }
    } finally {
      for (const client of clients) client.close()
    }
    await kubectl('delete', '-f', join(examples, 'two-clusters.yaml'), '--wait=false')
  })

  it('hold 16 cards for one model, with 128 cores and 512 GiB where the profiles say so', async () => {
    await apply('reference-sizing.yaml')
    const model = await stage.untilModel('deepseek-r1', ({ status }) => status?.message !== undefined)
    expect(model.status?.message).toContain('There is nothing at pvc://userdata/models/deepseek-r1')
    expect((await stage.pods()).some(({ metadata }) => metadata.name.includes('deepseek'))).toBe(false)

    const table = (await readConfigFile(join(examples, 'reference-profiles.yaml'))).profiles
    const profile = resolveProfile(h800, { table, cardKinds: [h800] })
    expect(profile && profileResources(profile, 16, {}).requests).toEqual({ cpu: '128', memory: '512Gi', [h800]: '16' })

    // A file in its place that is small enough for a test, and knows fewer tokens.
    const args = model.spec.args?.map((word) => word.replace('32768', '2048'))
    await stage.client.patch(modelKind, { namespace, name: 'deepseek-r1' }, { spec: { args } })
    await stage.addFile('models/deepseek-r1')
    await stage.untilModel('deepseek-r1', ({ status }) => status?.phase === 'Asleep')
    expect(await ask('deepseek-r1')).toEqual({ status: 200, text: expect.stringContaining('chat.completion') })
    const figures = await figuresOf(stage.sluice, stage.sluice.endpoints.clusterId)
    const held = figures.data?.utilizationRate.gpu.find(({ name }) => name === h800)
    expect(held).toMatchObject({ hard: 17 })
    expect(held?.used).toBeGreaterThanOrEqual(16)
    const pods = (await stage.client.list(podKind, { namespace })).items
    const pod = pods.find(({ metadata }) => metadata.labels?.['sluice.dev/model'] === 'deepseek-r1')
    expect(pod?.spec.containers[0]?.args).toEqual(expect.arrayContaining(['--tensor-parallel-size', '16']))
  })

  it('leave a trail: who applied what', async () => {
    const shown = async (...flags: string[]) =>
      (await runProgram(sluiceProgram, ['audit', '--data', stage.data, ...flags])).stdout
    await until('the lines to be written', 10_000, async () =>
      /admin +create +sluice\/models\.sluice\.dev\/deepseek-r1 +201 +127\.0\.0\.1/.test(
        await shown('--resource', 'Model'),
      ),
    )
    expect(await shown('--resource', 'apikeys', '--name', 'web-shop', '-o', 'json')).not.toMatch(/secret/i)
    expect(await shown('--failed', '--resource', 'Model')).toBe('')
  })
})
