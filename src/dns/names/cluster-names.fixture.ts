import { FakeClock } from '../../foundation/fake-clock.ts'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { ClusterIndex } from './cluster-index.ts'
import { ClusterNames, type Sections } from './cluster-names.ts'
import { type DomainName, nameOf } from '../messages/domain-name.ts'
import { type ResourceRecord, internetClass, recordTypes, responseCodes } from '../messages/message.ts'

/** The cache of an informer, filled by hand. */
export class HandCache<T extends KubernetesObject> extends HeldObjects<T> {
  override synced = true
}

type PortSpec = NonNullable<Service['spec']['ports']>[number]

export const http: PortSpec = { name: 'http', port: 80, protocol: 'TCP' }
export const dnsPort: PortSpec = { name: 'dns', port: 53, protocol: 'UDP' }

export function newService(name: string, spec: Partial<Service['spec']>, namespace = 'default'): Service {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { type: 'ClusterIP', ...spec } }
}

export interface EndpointFacts {
  readonly address: string
  readonly hostname?: string
  readonly ready?: boolean
}

export function newSlice(
  service: string,
  endpoints: readonly EndpointFacts[],
  { ports = [http], name = `${service}-1` }: { ports?: EndpointSlice['ports'] | undefined; name?: string } = {},
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { [serviceNameLabel]: service } },
    addressType: endpoints.some(({ address }) => address.includes(':')) ? 'IPv6' : 'IPv4',
    endpoints: endpoints.map(({ address, hostname, ready = true }) => ({
      addresses: [address],
      conditions: { ready },
      ...(hostname !== undefined && { hostname }),
    })),
    ports,
  }
}

export function newPod(name: string, address: string, status: Partial<NonNullable<Pod['status']>> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { containers: [{ name: 'main' }], restartPolicy: 'Always', terminationGracePeriodSeconds: 30 },
    status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }], ...status },
  }
}

/** A cluster with names, and its answers as text for tables. */
export class NamesStage {
  readonly services = new HandCache<Service>()
  readonly slices = new HandCache<EndpointSlice>()
  readonly pods = new HandCache<Pod>()
  readonly namespaces = new HandCache<Namespace>()
  readonly clock = new FakeClock()
  readonly names: ClusterNames

  constructor(clusterDomain = 'cluster.local') {
    for (const name of ['default', 'kube-system']) {
      this.namespaces.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    }
    this.names = new ClusterNames({
      index: new ClusterIndex(this, this.clock),
      clusterDomain,
      serverService: { namespace: 'kube-system', name: 'kube-dns' },
      serverAddresses: () => ['10.1.0.1'],
      random: () => 0,
    })
  }

  /** `NOERROR`, then a line for each record; or where the answer can be found. */
  ask(name: string, type: keyof typeof recordTypes): string[] {
    const answer = this.names.answer({ name: nameOf(name) ?? [], type: recordTypes[type], class: internetClass })
    if (answer.kind === 'elsewhere') return ['elsewhere']
    if (answer.kind === 'alias') return [...answer.aliases.map(recordText), `then ${answer.target.join('.')}`]
    return sectionTexts(answer)
  }
}

export function sectionTexts({ rcode, answers, authorities, additionals }: Sections): string[] {
  const code = Object.entries(responseCodes).find(([, value]) => value === rcode)?.[0] ?? String(rcode)
  return [
    code,
    ...answers.map(recordText),
    ...authorities.map((one) => `authority ${recordText(one)}`),
    ...additionals.map((one) => `additional ${recordText(one)}`),
  ]
}

export function recordText({ name, type, ttl, data }: ResourceRecord): string {
  const typeText = Object.entries(recordTypes).find(([, value]) => value === type)?.[0] ?? String(type)
  if (type === recordTypes.SOA) return `${nameText(name)} ${ttl} SOA`
  return `${nameText(name)} ${ttl} ${typeText} ${data.map((part) => partText(part, type)).join(' ')}`
}

function partText(part: Buffer | DomainName, type: number): string {
  if (!Buffer.isBuffer(part)) return nameText(part)
  if (type === recordTypes.SRV) return [0, 2, 4].map((at) => part.readUInt16BE(at)).join(' ')
  if (type === recordTypes.A) return [...part].join('.')
  return type === recordTypes.TXT ? part.toString() : part.toString('hex')
}

function nameText(name: DomainName): string {
  return `${name.join('.')}.`
}
