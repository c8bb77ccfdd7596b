import { availableParallelism } from 'node:os'
import { JoinedRoutes } from '../../exposure/routes/joined-routes.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import type { Node } from '../../resources/node.ts'
import { edgeCaches } from '../cluster-caches.ts'
import { type CertificateFiles, ServedCertificate } from '../data/served-certificate.ts'
import { RenewedCertificate, edgeNames } from '../data/renewed-certificate.ts'
import { LiveCenters } from '../live-center.ts'
import { ExposureRole } from '../roles/exposure-role.ts'
import { ServingRole } from '../roles/serving-role.ts'
import { defaultServingThreads } from '../serving/serving-count.ts'
import { homeClusterIn } from './kubernetes-home.ts'
import { type RoleOptions, type RoleParts, type RunningRole, startRole } from './role-program.ts'
import { openSecretAuthority } from './secret-authority.ts'

export interface ExposureOptions extends RoleOptions {
  readonly exposurePort: number
  /** Undefined has one made by an authority that is kept in the cluster. */
  readonly certificate: CertificateFiles | undefined
  readonly workers: number | undefined
}

/** `sluice exposure`: the edge of a cluster's exposed Services. There may be several. */
export function startExposure(options: ExposureOptions, signal: AbortSignal): Promise<RunningRole> {
  return startRole('exposure', options, (parts) => [edge(options, parts)], signal)
}

/** Everything of the edge follows from what the cluster says of itself, so it is made once that is known. */
function edge(options: ExposureOptions, parts: RoleParts): Component {
  const { client, informers, clock, log, logPath, metrics, board } = parts
  const caches = edgeCaches(informers)
  const clusters = informers.add(clusterKind)
  const centers = new LiveCenters(informers.add(computeCenterKind))
  const count = options.workers ?? defaultServingThreads(availableParallelism(), process.platform)
  const joined = new JoinedRoutes()
  const made: Component[] = []
  return {
    name: 'edge',
    async start(signal) {
      const home = await homeClusterIn(clusters, signal)
      const clusterId = home.metadata.name
      const { center } = home.spec
      const onDomainChange = (listener: () => void) => centers.onChange(listener)
      const edgeCertificate = await RenewedCertificate.issue({
        of: 'the edge',
        authority: await openSecretAuthority(client, clock.now(), signal),
        names: () => edgeNames(centers.domainsWith(center), ['localhost']),
        onNamesChange: onDomainChange,
        clock,
        log,
      })
      const certificate = await ServedCertificate.open({
        files: options.certificate,
        made: edgeCertificate,
        clock,
        log,
      })
      const serving: ServingRole = new ServingRole({
        client,
        host: options.host,
        count,
        gateway: undefined,
        exposure: { port: options.exposurePort, served: { tls: certificate, routes: joined } },
        concerned: () => clusters.get({ name: clusterId }),
        stopGraceMs: options.stopGraceMs,
        logPath,
        ownerLoop: board.shape,
        clock,
        log,
        metrics,
      })
      const exposure = new ExposureRole({
        client,
        caches,
        clusterId,
        proxyDomain: () => centers.of(center).proxyDomain,
        onDomainChange,
        joined,
        port: options.exposurePort,
        listening: () => serving.exposure,
        closed: () => [...nodeAddresses(caches.nodes.list()), ...controlPlaneAddresses(caches.slices.list())],
        clock,
        log,
      })
      for (const component of [serving.early, serving, edgeCertificate, certificate, exposure]) {
        made.push(component)
        await component.start?.(signal)
      }
    },
    async stop(signal) {
      for (const component of made.toReversed()) await component.stop?.(signal)
    },
  }
}

/** Services must not lead to the machines themselves, on which the cluster's own programs listen. */
function nodeAddresses(nodes: readonly Node[]): readonly string[] {
  return nodes.flatMap(({ status }) => (status?.addresses ?? []).map(({ address }) => address))
}

function controlPlaneAddresses(slices: readonly EndpointSlice[]): readonly string[] {
  const isOwn = ({ metadata }: EndpointSlice) =>
    metadata.namespace === 'default' && metadata.labels?.[serviceNameLabel] === 'kubernetes'
  return slices.filter(isOwn).flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses))
}
