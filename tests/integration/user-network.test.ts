import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { get } from 'node:https'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { deploymentKind } from '../../src/resources/deployment.ts'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { sluiceCluster } from '../support/cluster-stage.ts'
import { OutsideMachine } from '../support/outside-machine.ts'
import { killIfThere, podProcesses, processesMentioning, until } from '../support/sluice-process.ts'
import { UserSluice, whyNotAsUser } from '../support/user-sluice.ts'

const namespace = 'default'

/** A server as most are: on every address, at a common port. */
const server = `require('node:http').createServer((_, response) => response.end(process.env.NAME)).listen(8000, '0.0.0.0')`
/** Fetches each URL, and writes the answers where the test can read them. */
const asker = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
const ask = (url) => fetch(url, { signal: AbortSignal.timeout(3000) }).then(async (answer) => (await answer.text()).slice(0, 40), () => 'none')
Promise.all(process.argv.slice(1).map(ask)).then((said) => require('node:fs').writeFileSync('/dev/termination-log', JSON.stringify(said)))
`

describe.skipIf(whyNotAsUser !== undefined)(`Pods of an ordinary user (${whyNotAsUser ?? 'here'})`, () => {
  let folder: string
  let sluice: UserSluice
  let client: KubernetesClient
  let outside: OutsideMachine
  let asked = 0
  const ended: Array<() => void> = []

  const container = (name: string, command: string[]) => ({
    name: 'c',
    image: `${sluice.endpoints.registry}/sluice/llama-cpp:1`,
    command: [process.execPath, '-e', ...command],
    env: [{ name: 'NAME', value: name }],
  })

  /** What a Pod gets from each of these URLs. */
  async function askFromPod(...urls: string[]): Promise<string[]> {
    const name = `asker-${(asked += 1)}`
    await client.create(podKind, {
      metadata: { namespace, name },
      spec: { restartPolicy: 'Never', containers: [container(name, [asker, ...urls])] },
    })
    let said: string | undefined
    await until(`the words of ${name}`, 60_000, async () => {
      const pod = await client.get(podKind, { namespace, name })
      said = pod?.status?.containerStatuses?.[0]?.state?.terminated?.message
      return said !== undefined
    })
    return z.array(z.string()).parse(JSON.parse(said ?? '[]'))
  }

  /** The rules of a Service follow its Pods within a second or so. */
  async function untilPodsReach(answers: Readonly<Record<string, string>>): Promise<void> {
    let said: string[] = []
    await until(`Pods to reach ${Object.keys(answers).join(', ')}`, 60_000, async () => {
      said = await askFromPod(...Object.keys(answers))
      return said.join() === Object.values(answers).join()
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${said.join()}`)
    })
  }

  async function serve(name: string): Promise<void> {
    const labels = { app: name }
    // On a busy machine the program runs for a while before it listens.
    const readinessProbe = { httpGet: { port: 8000 }, periodSeconds: 1 }
    await client.create(deploymentKind, {
      metadata: { namespace, name },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ ...container(name, [server]), readinessProbe }] } },
      },
    })
    await client.create(serviceKind, {
      metadata: { namespace, name },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8000 }] },
    })
    await until(`${name} to be ready`, 60_000, async () => {
      const deployment = await client.get(deploymentKind, { namespace, name })
      return deployment?.status?.readyReplicas === 1
    })
  }

  async function connect(): Promise<void> {
    client?.close()
    client = await connectKubernetes(sluice.kubeconfig)
  }

  const left = () => [...processesMentioning(folder), ...podProcesses(sluice.data)]

  const networkCondition = async () => {
    const { items } = await client.list(nodeKind, {})
    return items[0]?.status?.conditions?.find(({ type }) => type === 'PodNetworks')
  }

  beforeAll(async () => {
    outside = OutsideMachine.open()
    folder = mkdtempSync(join(tmpdir(), 'sluice-user-'))
    sluice = await UserSluice.start(folder, { tunnel: true })
    await connect()
    await serve('one')
    await serve('two')
  }, 240_000)

  afterAll(async () => {
    client?.close()
    await sluice?.end('SIGKILL')
    for (const end of ended) end()
    outside?.close()
    for (const pid of left()) killIfThere(pid)
    rmSync(folder, { recursive: true, force: true })
  })

  it('listen on the same port of all addresses, and reach each other, Services and the API by their names', async () => {
    expect((await networkCondition())?.message).toContain('has a network namespace of its own')
    await untilPodsReach({
      'http://one/': 'one',
      'http://two.default.svc.cluster.local/': 'two',
      'https://kubernetes.default/healthz': 'ok',
    })
  })

  it('reach what the machine reaches, and nothing that listens at its loopback', async () => {
    await outside.run(`${server}.on('listening', () => console.log('up'))`, { NAME: 'outside' })
    const here = createServer((_, response) => response.end('the machine')).listen(0, '127.0.0.1')
    ended.push(() => here.close())
    await new Promise((resolve) => here.once('listening', resolve))
    const { port } = here.address() as AddressInfo
    const gateway = /default via (\S+)/.exec(String(spawnSync('ip', ['route']).stdout))?.[1] ?? '127.0.0.1'

    const places = [`http://127.0.0.1:${port}/`, `http://${gateway}:${port}/`, `http://10.0.2.2:${port}/`]
    expect(await askFromPod(`http://${outside.far}:8000/`, ...places)).toEqual(['outside', 'none', 'none', 'none'])
  })

  it('keep their way out when another cluster of the same Sluice comes and goes', async () => {
    await sluiceCluster(sluice.data, 'create', 'other')
    await sluiceCluster(sluice.data, 'delete', 'other', '--purge')
    expect(await askFromPod(`http://${outside.far}:8000/`, 'http://one/')).toEqual(['outside', 'one'])
  }, 120_000)

  it('are kept apart by NetworkPolicies', async () => {
    await client.create(networkPolicyKind, {
      metadata: { namespace, name: 'alone' },
      spec: { podSelector: { matchLabels: { app: 'two' } }, policyTypes: ['Ingress'] },
    })
    await until('the policy to hold', 30_000, async () => (await askFromPod('http://two/'))[0] === 'none')
    expect(await askFromPod('http://one/', 'http://two/')).toEqual(['one', 'none'])
    await client.delete(networkPolicyKind, { namespace, name: 'alone' })
  })

  it('are served to clients of the machine by the gateway and the exposed services', async () => {
    const { gateway, gatewayExposed, ca } = sluice.endpoints
    const answer = await fetch(`${gateway}/openai/v1/models`, { signal: AbortSignal.timeout(10_000) })
    expect(await answer.json()).toMatchObject({ object: 'list' })
    const { hostname, port } = new URL(gatewayExposed ?? '')
    const options = { host: '127.0.0.1', port, servername: hostname, headers: { host: hostname }, ca: readFileSync(ca) }
    const status = await new Promise((resolve, reject) => {
      get({ ...options, path: '/openai/v1/models' }, ({ statusCode }) => resolve(statusCode)).on('error', reject)
    })
    expect(status).toBe(200)
  })

  it('go on when Sluice is killed, and are found again by the next one', async () => {
    const before = podProcesses(sluice.data)
    expect(before.length).toBeGreaterThan(1)
    await sluice.end('SIGKILL')
    sluice = await UserSluice.start(folder, { tunnel: true })
    await connect()
    expect(podProcesses(sluice.data)).toEqual(expect.arrayContaining(before))
    await untilPodsReach({ 'http://one/': 'one', 'http://two/': 'two' })
  }, 180_000)

  it('leave nothing behind when Sluice is stopped', async () => {
    await sluice.end('SIGTERM')
    await until('all to end', 30_000, () => left().length === 0)
    expect(left()).toEqual([])
  }, 60_000)

  it('have networks also where /run has no place for them', async () => {
    sluice = await UserSluice.start(folder, { tunnel: true, netnsFolder: false })
    await connect()
    expect((await networkCondition())?.message).toContain('has a network namespace of its own')
    await sluice.end('SIGTERM')
  }, 180_000)

  it('share the network of the machine where there is no way out of another, and the Node says why', async () => {
    sluice = await UserSluice.start(folder, { tunnel: false })
    await connect()
    const condition = await networkCondition()
    expect(condition).toMatchObject({ status: 'False' })
    expect(condition?.message).toContain('pasta: ')
    await sluice.end('SIGTERM')
    await until('all to end', 30_000, () => left().length === 0)
    expect(left()).toEqual([])
  }, 180_000)
})
