import type { Pod } from '../../resources/pod.ts'
import { numberIn, textIn } from '../../resources/validation/json-access.ts'
import type { Amounts } from './pod-requests.ts'

const everyAddress = '0.0.0.0'

interface Claim {
  readonly protocol: string
  readonly port: number
  readonly hostIP: string
}

/** The host ports that a Pod asks for, as resources of which there is one each. */
export function hostPortClaims(pod: Pod): Amounts {
  return new Map(claimsOf(pod).map((claim) => [nameOf(claim), 1]))
}

/** Whether a Pod on the node has one of these ports: at the same address, or where either uses all addresses. */
export function hasPortConflict(pod: Pod, used: Amounts | undefined): boolean {
  if (!used) return false
  const isUsed = (claim: Claim) => (used.get(nameOf(claim)) ?? 0) > 0
  return claimsOf(pod).some((claim) => {
    if (isUsed(claim) || isUsed({ ...claim, hostIP: everyAddress })) return true
    const anywhere = nameOf({ ...claim, hostIP: '' })
    return claim.hostIP === everyAddress && [...used].some(([name, count]) => count > 0 && name.startsWith(anywhere))
  })
}

function claimsOf({ spec }: Pod): Claim[] {
  return [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports = [] }) =>
    ports.flatMap((each): Claim[] => {
      const port = numberIn(each, 'hostPort') ?? 0
      return port === 0 ? [] : [{ protocol: each.protocol, port, hostIP: textIn(each, 'hostIP') || everyAddress }]
    }),
  )
}

/** A name that no resource can have, because it contains spaces. */
function nameOf({ protocol, port, hostIP }: Claim): string {
  return `hostPort ${protocol} ${port} ${hostIP}`
}
