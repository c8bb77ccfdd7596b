import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { type EndpointSlice, endpointSliceSchema, serviceNameLabel } from '../../../resources/endpoint-slice.ts'
import { namespaceSchema } from '../../../resources/namespace.ts'
import { type NetworkPolicy, networkPolicySchema } from '../../../resources/network-policy.ts'
import { type Service, serviceSchema } from '../../../resources/service.ts'
import type { FamilyRanges } from '../choose-ranges.ts'
import { NetworkStage, hasIpv6, mayMakeRules } from '../network-stage.fixture.ts'

/** Of Pods; `stranger` is in another namespace than the others. */
export const podNames = ['web', 'db', 'guest', 'stranger'] as const
export type Asker = (typeof podNames)[number] | 'machine' | 'outside'

/** Four Pods that listen, under the rules of the network, seen by their addresses of one family. */
export class RuledPods {
  readonly family: 4 | 6
  /** The machine's port that leads to `web`. Random, since another run of the tests may be under way on the machine. */
  readonly hostPort = randomInt(20_000, 30_000)
  #stage: NetworkStage | undefined

  constructor(family: 4 | 6) {
    this.family = family
  }

  get stage(): NetworkStage {
    if (!this.#stage) throw new Error('the stage is not open')
    return this.#stage
  }

  async open(): Promise<void> {
    const { hostPort } = this
    const stage = await NetworkStage.open()
    this.#stage = stage
    const listens = [80, 81, 1500]
    const ports = [{ containerPort: 80, name: 'http' }]
    const webPorts = [
      { containerPort: 80, hostPort },
      { containerPort: 81, hostPort, protocol: 'UDP' },
    ]
    await stage.addPod({ name: 'web', labels: { app: 'web' }, ports: webPorts, listens })
    await stage.addPod({ name: 'db', labels: { app: 'db' }, ports: [{ containerPort: 81, name: 'http' }], listens })
    await stage.addPod({ name: 'guest', labels: { app: 'guest' }, ports, listens })
    await stage.addPod({ name: 'stranger', namespace: 'elsewhere', labels: { app: 'web' }, ports, listens })
    for (const name of ['default', 'elsewhere']) {
      const metadata = { name, labels: { name } }
      stage.namespaces.put(namespaceSchema.parse({ apiVersion: 'v1', kind: 'Namespace', metadata }))
    }
    await stage.start()
  }

  clear(): void {
    this.stage.policies.clear()
    this.stage.services.clear()
    this.stage.slices.clear()
  }

  async close(): Promise<void> {
    await this.#stage?.close()
  }

  address(name: Asker): string {
    const { address, address6 } = this.stage.agent(name)
    return this.family === 4 ? address : address6
  }

  get ranges(): FamilyRanges {
    const { ipv6, ...four } = this.stage.network.ranges
    return this.family === 4 ? four : (ipv6 ?? four)
  }

  /** The range that is nothing but this address. */
  single(address: string): string {
    return `${address}/${this.family === 4 ? 32 : 128}`
  }

  serviceAt(number: number): string {
    return this.family === 4 ? this.stage.service(number) : this.stage.service6(number)
  }

  /** The machine's, as it is seen from outside. */
  get hostAddress(): string {
    return this.family === 4 ? this.stage.hostAddress : this.stage.hostAddress6
  }

  /** The machine's, as Pods see it. */
  get hostIP(): string | undefined {
    return this.family === 4 ? this.stage.network.hostIP : this.stage.network.hostIP6
  }

  async reaches(from: Asker, to: Asker, port = 80): Promise<string> {
    const said = await this.stage.agent(from).ask(this.address(to), port)
    return said === `${to} ${this.address(from)}` ? 'reached' : said
  }

  /** What all of many requests to a Service were answered. */
  async answers(from: Asker, host: string, count: number): Promise<Set<string>> {
    const asked = Array.from({ length: count }, () => this.stage.agent(from).ask(host, 8000))
    return new Set(await Promise.all(asked))
  }

  /** Resolves when these policies, among others, are in force. */
  async apply(...policies: readonly NetworkPolicy[]): Promise<void> {
    this.stage.policies.put(...policies)
    await this.stage.rules.settle()
  }

  service(name: string, number: number, extra: object = {}): Service {
    const ports = [
      { port: 8000, targetPort: 80 },
      { port: 53, targetPort: 81, protocol: 'UDP', name: 'dns' },
    ]
    const address = this.serviceAt(number)
    return serviceSchema.parse({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default' },
      spec: { clusterIP: address, clusterIPs: [address], ports, ...extra },
    })
  }

  slice(name: string, pods: readonly Asker[]): EndpointSlice {
    return endpointSliceSchema.parse({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: 'default', labels: { [serviceNameLabel]: name } },
      addressType: `IPv${this.family}`,
      endpoints: pods.map((pod) => ({ addresses: [this.address(pod)] })),
      ports: [{ port: 80 }, { port: 81, protocol: 'UDP', name: 'dns' }],
    })
  }
}

export function policy(name: string, spec: NetworkPolicy['spec'], namespace = 'default'): NetworkPolicy {
  return networkPolicySchema.parse({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec,
  })
}

/** Runs the tests for each family of addresses that the machine has. Each begins without policies and Services. */
export function describeRules(title: string, define: (pods: RuledPods) => void): void {
  const families = hasIpv6 ? ([4, 6] as const) : ([4] as const)
  for (const family of families) {
    describe.runIf(mayMakeRules)(`${title}, of IPv${family},`, () => {
      const pods = new RuledPods(family)
      beforeAll(() => pods.open())
      beforeEach(() => pods.clear())
      afterAll(() => pods.close())
      define(pods)
    })
  }
}
