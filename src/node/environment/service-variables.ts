import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'

/** The Service by which programs find the API server. */
const apiServer = { namespace: 'default', name: 'kubernetes' }

/**
 * The `*_SERVICE_HOST` variables of a Pod: the Services of its namespace, unless it opts out, and always the API
 * server.
 */
export function serviceVariables(pod: Pod, services: readonly Service[]): Record<string, string> {
  const { namespace } = pod.metadata
  const wantsLinks = pod.spec['enableServiceLinks'] !== false
  const variables: Record<string, string> = {}
  for (const service of services) {
    const { namespace: its, name } = service.metadata
    const isApiServer = its === apiServer.namespace && name === apiServer.name
    if (isApiServer || (wantsLinks && its === namespace)) Object.assign(variables, variablesOf(service))
  }
  return variables
}

function variablesOf({ metadata, spec }: Service): Record<string, string> {
  const { clusterIP = '', ports = [] } = spec
  const [first] = ports
  if (clusterIP === '' || clusterIP === 'None' || !first) return {}
  const prefix = variableName(metadata.name)
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP
  const url = (port: number, protocol: string) => `${protocol.toLowerCase()}://${host}:${port}`
  const variables: Record<string, string> = {
    [`${prefix}_SERVICE_HOST`]: clusterIP,
    [`${prefix}_SERVICE_PORT`]: String(first.port),
    [`${prefix}_PORT`]: url(first.port, first.protocol),
  }
  for (const { name, port, protocol } of ports) {
    if (name) variables[`${prefix}_SERVICE_PORT_${variableName(name)}`] = String(port)
    const link = `${prefix}_PORT_${port}_${protocol}`
    variables[link] = url(port, protocol)
    variables[`${link}_PROTO`] = protocol.toLowerCase()
    variables[`${link}_PORT`] = String(port)
    variables[`${link}_ADDR`] = clusterIP
  }
  return variables
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
