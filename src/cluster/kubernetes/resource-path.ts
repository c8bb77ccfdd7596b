import { StatusError } from '../../resources/status-error.ts'
import type { Kind } from '../../resources/kind.ts'

export interface ResourceAddress {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: 'status' | 'scale' | undefined
}

/** The path of a resource, relative to the server's address. */
export function resourcePath(kind: Kind, { namespace, name, subresource }: ResourceAddress): string {
  const segments = kind.group === '' ? ['api', kind.version] : ['apis', kind.group, kind.version]
  if (kind.namespaced && namespace !== undefined) segments.push('namespaces', segment(namespace))
  segments.push(kind.plural)
  if (name !== undefined) segments.push(segment(name))
  if (subresource !== undefined) segments.push(subresource)
  return `/${segments.join('/')}`
}

/** An empty name, or one of dots, would address something else. */
function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new StatusError('BadRequest', `${JSON.stringify(text)} is no name`)
  return encodeURIComponent(text)
}

/** `a=b,c=d`, as selectors of lists and watches are written. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}
