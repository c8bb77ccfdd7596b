import type { IncomingHttpHeaders } from 'node:http'

/** Only sent there: cookies know no ports, and other programs listen at other ports of the same host. */
export const consoleApiPrefix = '/api/console/v1/'

const cookieName = 'sluice-console'
const tokenPattern = /^[\w-]{43}$/

/** The token of the session; `undefined` without a cookie of that form. */
export function sessionToken({ cookie }: IncomingHttpHeaders): string | undefined {
  for (const pair of (cookie ?? '').split(';')) {
    const [name, value = ''] = pair.trim().split('=')
    if (name === cookieName && tokenPattern.test(value)) return value
  }
  return undefined
}

export interface CookieOptions {
  readonly maxAgeSeconds: number
  readonly secure: boolean
}

export function sessionCookie(token: string, { maxAgeSeconds, secure }: CookieOptions): string {
  const parts = [`${cookieName}=${token}`, `Path=${consoleApiPrefix}`, `Max-Age=${maxAgeSeconds}`, 'HttpOnly']
  return [...parts, 'SameSite=Strict', ...(secure ? ['Secure'] : [])].join('; ')
}

/**
 * Whether the browser came by TLS, as the proxy in front tells. Whoever claims so without it has only made his own
 * cookie useless.
 */
export function isSecure(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-proto'] === 'https'
}
