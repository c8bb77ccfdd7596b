import { StatusError } from '../../resources/status-error.ts'

/** A condition of `/livez` and `/readyz`, such as a store that accepts writes. */
export interface HealthCheck {
  readonly name: string
  /** Left out of `/livez`: whether requests may be sent here, not whether the server is alive. */
  readonly readinessOnly?: boolean | undefined
  isHealthy(): boolean
}

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthAnswer {
  readonly code: number
  readonly text: string
}

const ping: HealthCheck = { name: 'ping', isHealthy: () => true }

export function isHealthEndpoint(segment: string | undefined): segment is HealthEndpoint {
  return segment === 'healthz' || segment === 'livez' || segment === 'readyz'
}

/**
 * Answers `/readyz`, `/readyz?verbose`, `/readyz?exclude=store` and `/readyz/store` in the words of the real server.
 */
export function healthAnswer(
  endpoint: HealthEndpoint,
  path: readonly string[],
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): HealthAnswer {
  const all = [ping, ...checks].filter((check) => endpoint === 'readyz' || check.readinessOnly !== true)
  const name = path.join('/')
  if (name !== '') return oneCheck(all, name)
  const excluded = new Set(query.getAll('exclude'))
  const lines: string[] = []
  let healthy = true
  for (const check of all) {
    if (excluded.has(check.name)) lines.push(`[+]${check.name} excluded: ok`)
    else if (check.isHealthy()) lines.push(`[+]${check.name} ok`)
    else {
      healthy = false
      // Anybody may read this, so the reasons are only in the log.
      lines.push(`[-]${check.name} failed: reason withheld`)
    }
  }
  if (!healthy) return { code: 500, text: [...lines, `${endpoint} check failed`, ''].join('\n') }
  if (!query.has('verbose')) return { code: 200, text: 'ok' }
  return { code: 200, text: [...lines, `${endpoint} check passed`, ''].join('\n') }
}

function oneCheck(checks: readonly HealthCheck[], name: string): HealthAnswer {
  const check = checks.find((candidate) => candidate.name === name)
  if (!check) throw new StatusError('NotFound', 'the server could not find the requested resource')
  if (check.isHealthy()) return { code: 200, text: 'ok' }
  return { code: 500, text: 'internal server error: reason withheld\n' }
}
