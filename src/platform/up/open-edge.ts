import { JoinedRoutes } from '../../exposure/routes/joined-routes.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Machine } from '../clusters/further-cluster.ts'
import { ServedCertificate } from '../data/served-certificate.ts'
import { EdgeCertificate } from '../edge-certificate.ts'
import type { Listening } from '../listen.ts'
import { ExposureRole } from '../roles/exposure-role.ts'
import type { UpOptions } from '../up-options.ts'
import type { OpenedHome } from './open-home.ts'

export interface OpenEdgeOptions {
  readonly options: UpOptions
  readonly opened: Pick<OpenedHome, 'authority' | 'hosts' | 'center' | 'centers'>
  /** Where the threads listen, once they do. */
  readonly listening: () => Listening
  readonly clock: Clock
  readonly log: Logger
}

/** The edge that all clusters of this machine share: its certificate, and where their routes come together. */
export async function openEdge({ options, opened, listening, clock, log }: OpenEdgeOptions) {
  const { authority, hosts, center, centers } = opened
  const onDomainChange = (listener: () => void) => centers.onChange(listener)
  const edgeCertificate = await EdgeCertificate.issue({
    authority,
    hosts,
    domains: () => centers.domainsWith(center.code),
    onDomainChange,
    clock,
    log,
  })
  const files = options.exposureCertificate
  const certificate = await ServedCertificate.open({ files, made: edgeCertificate, clock, log })
  const joined = new JoinedRoutes()
  const exposureOf: Machine['exposure'] = (of) =>
    new ExposureRole({
      ...of,
      joined,
      onDomainChange,
      port: options.ports.exposure,
      listening,
      clock,
      log,
    })
  return { edgeCertificate, certificate, joined, exposureOf }
}
