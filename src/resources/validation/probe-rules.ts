import { type FieldError, forbidden, invalid, required, unsupported } from '../field-error.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textIn } from './json-access.ts'
import { checkNotNegative, checkPort } from './name-syntax.ts'

const schemes = ['HTTP', 'HTTPS']

/** The action of a probe or a lifecycle hook: exactly one. */
export function checkHandler(field: string, handler: Json): FieldError[] {
  const errors: FieldError[] = []
  let count = 0
  for (const [type, check] of Object.entries(handlers)) {
    const given = objectIn(handler, type)
    if (!given) continue
    count++
    if (count > 1) errors.push(forbidden(`${field}.${type}`, 'may not specify more than 1 handler type'))
    else errors.push(...check(`${field}.${type}`, given))
  }
  return count === 0 ? [required(field, 'must specify a handler type')] : errors
}

const handlers: Readonly<Record<string, (field: string, action: Json) => FieldError[]>> = {
  exec: (field, action) => (listIn(action, 'command').length === 0 ? [required(`${field}.command`)] : []),
  httpGet: checkHttpGet,
  tcpSocket: (field, action) => checkPort(`${field}.port`, fieldIn(action, 'port')),
  grpc: (field, action) => checkPort(`${field}.port`, fieldIn(action, 'port')),
  sleep: () => [],
}

function checkHttpGet(field: string, action: Json): FieldError[] {
  const errors = textIn(action, 'path') === '' ? [required(`${field}.path`)] : []
  errors.push(...checkPort(`${field}.port`, fieldIn(action, 'port')))
  const scheme = textIn(action, 'scheme')
  if (!schemes.includes(scheme)) errors.push(unsupported(`${field}.scheme`, scheme, schemes))
  return errors
}

/** `succeedsOnce`: its success threshold must be 1. */
export function checkProbe(field: string, probe: Json, succeedsOnce: boolean): FieldError[] {
  const errors = checkHandler(field, probe)
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ]) {
    errors.push(...checkNotNegative(`${field}.${name}`, numberIn(probe, name)))
  }
  const needed = numberIn(probe, 'successThreshold')
  if (succeedsOnce && needed !== undefined && needed !== 1) {
    errors.push(invalid(`${field}.successThreshold`, needed, 'must be 1'))
  }
  const grace = numberIn(probe, 'terminationGracePeriodSeconds')
  if (grace !== undefined && (!succeedsOnce || grace <= 0)) {
    // A readiness probe ends nothing, so it has no grace period.
    const why = succeedsOnce ? 'must be greater than 0' : 'must not be set for readinessProbes'
    errors.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, why))
  }
  return errors
}
