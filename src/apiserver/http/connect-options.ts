import type { JsonObject } from '../../resources/json-value.ts'
import type { RequestPart } from '../admission/admission.ts'
import { isSet } from './request-options.ts'

/** What a connection into a Pod or a Service asks for, in the words of Kubernetes, for policies to judge. */
export function connectPart(resource: string, query: URLSearchParams, pathBehind: string): RequestPart | undefined {
  switch (resource) {
    case 'pods/exec':
      return options('PodExecOptions', { ...streamsOf(query), command: query.getAll('command') })
    case 'pods/attach':
      return options('PodAttachOptions', streamsOf(query))
    case 'pods/portforward':
      return options('PodPortForwardOptions', portsOf(query))
    case 'pods/proxy':
      return options('PodProxyOptions', pathOf(pathBehind))
    case 'services/proxy':
      return options('ServiceProxyOptions', pathOf(pathBehind))
    default:
      return undefined
  }
}

function options(kind: string, fields: JsonObject): RequestPart {
  return { kind: { group: '', version: 'v1', kind }, object: { kind, apiVersion: 'v1', ...fields } }
}

/** What is not asked for is left out, as in an object that was sent. */
function streamsOf(query: URLSearchParams): JsonObject {
  const asked = ['stdin', 'stdout', 'stderr', 'tty'].filter((name) => isSet(query, name))
  const container = query.get('container') ?? ''
  return { ...Object.fromEntries(asked.map((name) => [name, true])), ...(container !== '' && { container }) }
}

function pathOf(path: string): JsonObject {
  return path === '' ? {} : { path }
}

function portsOf(query: URLSearchParams): JsonObject {
  const ports = query.getAll('ports').flatMap((text) => text.split(',').map(Number))
  return ports.length === 0 ? {} : { ports }
}
