import type { ComputeCenter } from '../resources/compute-center.ts'

/** A compute center as the list shows it. The interface spells the two access URLs in this way. */
export interface ComputeCenterEntry {
  readonly id: string
  readonly code: string
  readonly name: string
  readonly nameEn: string
  readonly country: string
  readonly address: string
  readonly endpoInt?: string
  readonly osmEndpoInt?: string
  readonly onlineDate?: string
  readonly createdTime?: string | null
}

/** The centers that are open to an enterprise, in a stable order. */
export function computeCenterEntries(centers: readonly ComputeCenter[], enterprise: string): ComputeCenterEntry[] {
  return centers
    .filter(({ spec }) => spec.enterprises.length === 0 || spec.enterprises.includes(enterprise))
    .sort((left, right) => (left.spec.code < right.spec.code ? -1 : 1))
    .map(entryOf)
}

function entryOf({ spec }: ComputeCenter): ComputeCenterEntry {
  const { id, code, name, nameEn, country, address, endpoint, osmEndpoint, onlineDate, createdTime } = spec
  return {
    id,
    code,
    name,
    nameEn,
    country,
    address,
    ...(endpoint === undefined ? {} : { endpoInt: endpoint }),
    ...(osmEndpoint === undefined ? {} : { osmEndpoInt: osmEndpoint }),
    ...(onlineDate === undefined ? {} : { onlineDate }),
    ...(createdTime === undefined ? {} : { createdTime }),
  }
}
