import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import type { Endpoints } from '../../platform/up-options.ts'
import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'
import { nothingRunsIn } from './cluster-connection.ts'
import { type DataPlace, findCluster } from './cluster-place.ts'

/** The flags of commands that talk to models. */
export const gatewayAddressFlags: readonly Flag[] = [
  {
    name: 'gateway',
    value: 'URL',
    help: "the gateway's address (default: $SLUICE_GATEWAY, or that of the cluster)",
  },
  { name: 'api-key', value: 'KEY', help: 'the key that the gateway asks for (default: $SLUICE_API_KEY)' },
]

const endpointsSchema = z.looseObject({
  clusterId: z.string(),
  management: z.string(),
  controlPlane: z.string(),
  gateway: z.string().nullable(),
  exposure: z.string(),
  gatewayExposed: z.string().nullable(),
  registry: z.string(),
  ca: z.string(),
  pid: z.int(),
})

/** What runs in a data directory; undefined while nothing does. */
export function readEndpoints(data: string): Endpoints | undefined {
  try {
    return endpointsSchema.safeParse(JSON.parse(readFileSync(join(data, 'endpoints.json'), 'utf8'))).data
  } catch {
    return undefined
  }
}

/** Where the gateway of the cluster is; undefined where nothing says so. */
export function findGateway(
  parsed: Pick<ParsedFlags, 'text'>,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const named = parsed.text('gateway') ?? (environment['SLUICE_GATEWAY'] || undefined)
  if (named !== undefined) return checked(named)
  const place = findCluster(parsed)
  return place.kind === 'data' ? (endpointsOf(place).gateway ?? undefined) : undefined
}

/** The same. In a data directory there is a gateway, or an error says so; of a Kubernetes it may be unknown. */
export function gatewayIfKnown(parsed: Pick<ParsedFlags, 'text'>): string | undefined {
  const gateway = findGateway(parsed)
  if (gateway !== undefined || findCluster(parsed).kind === 'kubeconfig') return gateway
  throw new SluiceError('no_gateway', { reason: 'this Sluice runs without one' })
}

export function apiKeyOf(parsed: Pick<ParsedFlags, 'text'>, environment = process.env): string | undefined {
  return parsed.text('api-key') ?? (environment['SLUICE_API_KEY'] || undefined)
}

function endpointsOf(place: DataPlace): Endpoints {
  const endpoints = readEndpoints(place.data)
  if (!endpoints) throw nothingRunsIn(place)
  return endpoints
}

function checked(url: string): string {
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (isHttp) return url.replace(/\/+$/, '')
  throw new SluiceError('invalid_flag', {
    flag: '--gateway',
    reason: `"${url}" is not an address such as http://127.0.0.1:8000.`,
  })
}
