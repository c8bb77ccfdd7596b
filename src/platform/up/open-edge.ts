import { JoinedRoutes } from '../../exposure/routes/joined-routes.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Machine } from '../clusters/further-cluster.ts'
import { RenewedCertificate, edgeNames } from '../data/renewed-certificate.ts'
import { ServedCertificate } from '../data/served-certificate.ts'
import type { Listening } from '../listen.ts'
import { ExposureRole } from '../roles/exposure-role.ts'
import type { UpOptions } from '../up-options.ts'
import type { OpenedHome } from './open-home.ts'

export interface OpenEdgeOptions {
  readonly options: UpOptions
  readonly opened: Pick<OpenedHome, 'authority' | 'machineNames' | 'center' | 'centers'>
  /** Where the threads listen, once they do. */
  readonly listening: () => Listening
  readonly clock: Clock
  readonly log: Logger
}

/** The edge that all clusters of this machine share: its certificate, and where their routes come together. */
export async function openEdge({ options, opened, listening, clock, log }: OpenEdgeOptions) {
  const { authority, machineNames, center, centers } = opened
  const onDomainChange = (listener: () => void) => centers.onChange(listener)
  const edgeCertificate = await RenewedCertificate.issue({
    of: 'the edge',
    authority,
    names: () => edgeNames(centers.domainsWith(center.code), machineNames.all),
    onNamesChange: both(onDomainChange, (listener) => machineNames.onChange(listener)),
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

type Listen = (listener: () => void) => () => void

function both(one: Listen, other: Listen): Listen {
  return (listener) => {
    const forget = [one(listener), other(listener)]
    return () => {
      for (const end of forget) end()
    }
  }
}
