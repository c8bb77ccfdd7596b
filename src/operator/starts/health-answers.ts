import type { Pod } from '../../resources/pod.ts'

/** Where a container answers whether it has started. */
export interface HealthAddress {
  readonly host: string
  readonly port: number
  readonly path: string
}

/** The body of what is answered there, as JSON; undefined if it is none. Implemented by the platform. */
export type AskHealth = (address: HealthAddress, signal: AbortSignal) => Promise<unknown>

/** Where the startup probe of a container asks; undefined if it asks nothing over HTTP. */
export function healthAddressOf({ spec, status }: Pod, name: string): HealthAddress | undefined {
  const container = [...spec.containers, ...(spec.initContainers ?? [])].find((one) => one.name === name)
  const probe = container?.startupProbe?.httpGet
  const host = status?.podIP
  if (probe === undefined || probe.host !== undefined || !host) return undefined
  const port =
    typeof probe.port === 'number'
      ? probe.port
      : container?.ports?.find((known) => known.name === probe.port)?.containerPort
  return port === undefined ? undefined : { host, port, path: probe.path }
}
