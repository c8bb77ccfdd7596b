import { mkdtempSync, rmSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { leftInNetwork } from '../support/leftover-network.ts'
import { SluiceProcess, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

const mayMakeNetworks = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))
const hasIpv6 = Object.entries(networkInterfaces()).some(
  ([name, all]) =>
    !name.startsWith('s') &&
    all?.some(({ family, internal, scopeid }) => family === 'IPv6' && !internal && scopeid === 0),
)
const namespace = 'team'
const port = 8080

/** A server that answers with its name and its client, or with what it gets from the URL that it is given. */
const server = `
const { createServer, get } = require('node:http')
createServer((request, response) => {
  const url = new URL(request.url, 'http://here').searchParams.get('ask')
  if (url === null) return response.end(process.env.HOSTNAME + ' ' + request.socket.remoteAddress.replace('::ffff:', ''))
  const asked = get(url, { agent: false, timeout: 2000 }, (answer) => answer.pipe(response))
  asked.on('timeout', () => asked.destroy(new Error('silence')))
  asked.on('error', (error) => response.end(error.message))
}).listen(${port}, '::')
`

describe.runIf(mayMakeNetworks && hasIpv6)('a cluster on a machine with IPv6', () => {
  let data: string
  let sluice: SluiceProcess
  let client: KubernetesClient
  const addresses = new Map<string, readonly string[]>()

  const host = (address: string) => (address.includes(':') ? `[${address}]` : address)
  const of = (name: string) => addresses.get(name) ?? []
  const hear = async (url: string) =>
    (await fetch(url, { signal: AbortSignal.timeout(10_000), headers: { connection: 'close' } })).text()
  /** What a Pod gets when it fetches this URL. */
  const heardBy = (name: string, url: string) => hear(`http://${of(name)[0]}:${port}/?ask=${encodeURIComponent(url)}`)
  const start = async () => {
    sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
    client = await connectKubernetes(sluice.kubeconfig)
  }
  const addressesOf = async (name: string) => {
    const pod = await client.get(podKind, { namespace, name })
    const isReady = pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return isReady ? (pod?.status?.podIPs ?? []).map(({ ip }) => ip) : []
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-dual-stack-'))
    await start()
    await client.create(namespaceKind, { metadata: { name: namespace } })
    for (const name of ['web', 'guest']) {
      const image = `${sluice.endpoints.registry}/sluice/sluice:1`
      const env = [{ name: 'IPS', valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } } }]
      const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 }
      const container = { name: 'main', image, command: [process.execPath, '-e', server], readinessProbe, env }
      await client.create(podKind, {
        metadata: { name, namespace, labels: { app: name } },
        spec: { containers: [container], terminationGracePeriodSeconds: 0 },
      })
    }
    const ports = [{ port: 80, targetPort: port }]
    for (const [name, families] of Object.entries({
      both: { ipFamilyPolicy: 'RequireDualStack' },
      six: { ipFamilies: ['IPv6'] },
      heads: { clusterIP: 'None', ipFamilies: ['IPv6'] },
    })) {
      const spec = { selector: { app: 'web' }, ports, ...families }
      const service = await client.create(serviceKind, { metadata: { name, namespace }, spec })
      addresses.set(name, service.spec.clusterIPs ?? [])
    }
    for (const name of ['web', 'guest']) {
      await until(`${name} to be ready`, 60_000, async () => (await addressesOf(name)).length > 0)
      addresses.set(name, await addressesOf(name))
    }
  })

  afterAll(() => {
    client?.close()
    sluice?.destroy()
    for (const pid of processesMentioning(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
  })

  it('has Pods, Services and a Node with addresses of both families', async () => {
    const four = expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/) as string
    const six = expect.stringMatching(/^fd[0-9a-f]{2}:/) as string
    expect(of('web')).toEqual([four, six])
    expect(of('both')).toEqual([four, six])
    expect(of('six')).toEqual([six])
    const [node] = (await client.list(nodeKind)).items
    const internal = node?.status?.addresses?.filter(({ type }) => type === 'InternalIP')
    expect(internal?.map(({ address }) => address)).toEqual([four, six])
  })

  it('lets the machine and Pods reach Pods and Services by both, by address and by name', async () => {
    const [first, second] = of('both')
    for (const address of [first, second, ...of('six')]) {
      const url = `http://${host(address ?? '')}/`
      await until(`the machine to hear ${url}`, 10_000, () =>
        hear(url).then(
          (said) => said.startsWith('web '),
          () => false,
        ),
      )
      const asker = address?.includes(':') ? of('guest')[1] : of('guest')[0]
      expect(await heardBy('guest', url)).toBe(`web ${asker}`)
    }
    expect(await heardBy('guest', `http://${host(of('web')[1] ?? '')}:${port}/`)).toBe(`web ${of('guest')[1]}`)
    // A name that has only an IPv6 address.
    expect(await heardBy('guest', `http://six.${namespace}.svc.cluster.local/`)).toBe(`web ${of('guest')[1]}`)
    expect(await heardBy('guest', `http://heads:${port}/`)).toBe(`web ${of('guest')[1]}`)
  })

  /** What the web Pod answers at each of its addresses, to another Pod and to the machine. */
  const heardOfWeb = async () => {
    const urls = of('web').map((address) => `http://${host(address)}:${port}/`)
    const byMachine = (await Promise.all(urls.map((url) => hear(url)))).map((said) => said.split(' ')[0])
    return { byGuest: await Promise.all(urls.map((url) => heardBy('guest', url))), byMachine }
  }
  const closed = { byGuest: ['silence', 'silence'], byMachine: ['web', 'web'] }

  it('closes a Pod that a policy closes by both', async () => {
    const spec = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] }
    await client.create(networkPolicyKind, { metadata: { name: 'closed', namespace }, spec })
    const url = `http://${host(of('web')[0] ?? '')}:${port}/`
    await until('the policy to be kept', 10_000, async () => (await heardBy('guest', url)) === 'silence')
    expect(await heardOfWeb()).toEqual(closed)
  })

  it('has all of it again after it was killed, and leaves nothing when it ends', async () => {
    client.close()
    await sluice.killHard()
    await start()
    await until('the Pods to be taken over', 30_000, async () => (await addressesOf('web')).length > 0)
    expect([await addressesOf('web'), await addressesOf('guest')]).toEqual([of('web'), of('guest')])
    expect(await heardOfWeb()).toEqual(closed)
    expect(await hear(`http://${host(of('six')[0] ?? '')}/`)).toContain('web ')
    await sluice.stop()
    expect(leftInNetwork(data)).toEqual([])
  })
})
