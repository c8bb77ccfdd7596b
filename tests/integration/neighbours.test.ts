import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { deploymentKind } from '../../src/resources/deployment.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { SluiceProcess, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

const mayMakeNetworks = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))
const namespace = 'guestbook'

/** A server on all addresses, as redis and vLLM are. Given a URL, it fetches it and answers with the result. */
const server = `
const { createServer, get } = require('node:http')
createServer((request, response) => {
  const url = new URL(request.url, 'http://here').searchParams.get('ask')
  if (url === null) return response.end(process.env.HOSTNAME)
  // Each time a new connection, since an open one stays wherever it leads.
  const asked = get(url, { agent: false, timeout: 3000 }, (answer) => answer.pipe(response))
  asked.on('timeout', () => asked.destroy(new Error('silence')))
  asked.on('error', (error) => response.end('error: ' + error.message))
}).listen(Number(process.argv[1]), '0.0.0.0')
`

describe.runIf(mayMakeNetworks)('Deployments whose programs listen on all addresses at the same port', () => {
  let data: string
  let sluice: SluiceProcess
  let client: KubernetesClient

  const deploy = async (name: string, replicas: number, port: number) => {
    const image = `${sluice.endpoints.registry}/sluice/sluice:1`
    const container = {
      name: 'main',
      image,
      command: [process.execPath, '-e', server, String(port)],
      ports: [{ name: 'http', containerPort: port }],
      readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1 },
    }
    await client.create(deploymentKind, {
      metadata: { name, namespace },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [container] } },
      },
    })
    const spec = { selector: { app: name }, ports: [{ port: 80, targetPort: port }] }
    await client.create(serviceKind, { metadata: { name, namespace }, spec })
  }
  const podsOf = async (name: string): Promise<readonly Pod[]> =>
    (await client.list(podKind, { namespace, labels: { app: name } })).items
  const isReady = ({ status }: Pod) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  const podOf = async (name: string) => {
    const [pod] = await podsOf(name)
    if (!pod) throw new Error(`there is no Pod of ${name}`)
    return pod
  }
  /** What the first Pod of `from` gets when it fetches this URL. */
  const asked = async (from: string, port: number, url: string) => {
    const { status } = await podOf(from)
    const answer = await fetch(`http://${status?.podIP}:${port}/?ask=${encodeURIComponent(url)}`)
    return answer.text()
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-neighbours-'))
    sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
    client = await connectKubernetes(sluice.kubeconfig)
    await client.create(namespaceKind, { metadata: { name: namespace } })
    await deploy('leader', 1, 6379)
    await deploy('follower', 2, 6379)
    await deploy('frontend', 1, 80)
    await deploy('vllm-a', 1, 8000)
    await deploy('vllm-b', 1, 8000)
    const names = ['leader', 'follower', 'frontend', 'vllm-a', 'vllm-b']
    await until('all Pods to be ready', 60_000, async () => {
      const pods = (await Promise.all(names.map(podsOf))).flat()
      return pods.length === 6 && pods.every(isReady)
    })
  })

  afterAll(() => {
    client?.close()
    sluice?.destroy()
    for (const pid of processesMentioning(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
  })

  it('live side by side and find each other by the names of their Services', async () => {
    for (const [name, port] of [
      ['leader', 6379],
      ['frontend', 80],
      ['vllm-a', 8000],
      ['vllm-b', 8000],
    ] as const) {
      const { metadata } = await podOf(name)
      // As in every cluster, a Service leads to a Pod only a moment after the Pod is ready.
      const heardBy = (from: string, fromPort: number, url: string, answer: string) =>
        until(`${from} to hear ${answer}`, 10_000, async () => (await asked(from, fromPort, url)).startsWith(answer))
      await heardBy('frontend', 80, `http://${name}/`, metadata.name)
      await heardBy(name, port, `http://leader.${namespace}.svc.cluster.local/`, 'leader-')
    }
    const followers = (await podsOf('follower')).map(({ metadata }) => metadata.name)
    const heard = new Set<string>()
    await until('both followers to be heard', 10_000, async () => {
      const said = await asked('frontend', 80, 'http://follower/')
      if (!said.startsWith('error')) heard.add(said)
      return heard.size === 2
    })
    expect([...heard].sort()).toEqual(followers.toSorted())
  })

  it('are reached only by whom a NetworkPolicy lets in', async () => {
    const { metadata } = await podOf('leader')
    const from = [{ podSelector: { matchLabels: { app: 'frontend' } } }]
    await client.create(networkPolicyKind, {
      metadata: { name: 'leader', namespace },
      spec: { podSelector: { matchLabels: { app: 'leader' } }, policyTypes: ['Ingress'], ingress: [{ from }] },
    })
    await until('the policy to hold', 10_000, async () =>
      (await asked('vllm-a', 8000, 'http://leader/')).startsWith('error'),
    )
    expect(await asked('frontend', 80, 'http://leader/')).toBe(metadata.name)
    await client.delete(networkPolicyKind, { namespace, name: 'leader' })
    await until('the policy to be gone', 10_000, async () =>
      (await asked('vllm-a', 8000, 'http://leader/')).startsWith('leader-'),
    )
  })

  it('keep their addresses while Sluice is killed and comes back', async () => {
    const before = await podOf('leader')
    await sluice.killHard()
    sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
    client.close()
    client = await connectKubernetes(sluice.kubeconfig)
    const after = await podOf('leader')
    expect(after.status?.podIP).toBe(before.status?.podIP)
    expect(await asked('frontend', 80, 'http://leader/')).toBe(before.metadata.name)
  })
})
