import { StatusError } from '../../resources/status-error.ts'

/** The target in a proxy request: `name`, `name:port` or `scheme:name:port`. */
export interface ProxyName {
  readonly scheme: 'http' | 'https'
  readonly name: string
  /** A number or a name; empty when the request names none. */
  readonly port: string
}

export function parseProxyName(what: 'pod' | 'service', text: string): ProxyName {
  const parts = text.split(':')
  const invalid = () => new StatusError('BadRequest', `invalid ${what} request ${JSON.stringify(text.slice(0, 253))}`)
  if (parts.length > 3) throw invalid()
  const [scheme = '', name = '', port = ''] = parts.length < 3 ? ['', ...parts] : parts
  if (name === '' || (scheme !== '' && scheme !== 'http' && scheme !== 'https')) throw invalid()
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port }
}
