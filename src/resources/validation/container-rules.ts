import { type FieldError, duplicate, faultsOfEach, invalid, required, unsupported } from '../field-error.ts'
import { notFoundField } from './field-errors.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textIn } from './json-access.ts'
import { checkDnsLabel, checkPortName, checkPortNumber } from './name-syntax.ts'
import { checkEnvironment } from './environment-rules.ts'
import { checkHandler, checkProbe } from './probe-rules.ts'
import { checkContainerResources } from './resource-rules.ts'

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']
const protocols = ['SCTP', 'TCP', 'UDP']

/**
 * One container of a Pod. `volumes` are the names it can mount; with `isInit` it has no probes unless it keeps running.
 */
export function checkContainer(
  field: string,
  container: Json,
  volumes: ReadonlySet<string>,
  isInit: boolean,
): FieldError[] {
  const name = textIn(container, 'name')
  const errors = name === '' ? [required(`${field}.name`)] : checkDnsLabel(`${field}.name`, name)
  errors.push(...checkImage(`${field}.image`, textIn(container, 'image')))
  const messagePolicy = textIn(container, 'terminationMessagePolicy')
  if (!messagePolicies.includes(messagePolicy)) {
    errors.push(unsupported(`${field}.terminationMessagePolicy`, messagePolicy, messagePolicies))
  }
  errors.push(...checkPorts(`${field}.ports`, listIn(container, 'ports')))
  errors.push(...checkEnvironment(field, container))
  errors.push(...checkMounts(`${field}.volumeMounts`, listIn(container, 'volumeMounts'), volumes))
  const pullPolicy = textIn(container, 'imagePullPolicy')
  if (!pullPolicies.includes(pullPolicy)) errors.push(unsupported(`${field}.imagePullPolicy`, pullPolicy, pullPolicies))
  errors.push(...checkContainerResources(`${field}.resources`, objectIn(container, 'resources')))
  const keepsRunning = !isInit || textIn(container, 'restartPolicy') === 'Always'
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const given = objectIn(container, probe)
    if (given === undefined) continue
    if (!keepsRunning) errors.push(onlyWhereItKeepsRunning(`${field}.${probe}`))
    else errors.push(...checkProbe(`${field}.${probe}`, given, probe !== 'readinessProbe'))
  }
  const lifecycle = objectIn(container, 'lifecycle')
  if (lifecycle && !keepsRunning) errors.push(onlyWhereItKeepsRunning(`${field}.lifecycle`))
  for (const moment of keepsRunning ? ['postStart', 'preStop'] : []) {
    const handler = objectIn(lifecycle, moment)
    if (handler) errors.push(...checkHandler(`${field}.lifecycle.${moment}`, handler))
  }
  return errors
}

function onlyWhereItKeepsRunning(field: string): FieldError {
  const message = 'Forbidden: may not be set for init containers without restartPolicy=Always'
  return { reason: 'FieldValueForbidden', field, message }
}

function checkImage(field: string, image: string): FieldError[] {
  if (image === '') return [required(field)]
  return image.trim() === image ? [] : [invalid(field, image, 'must not have leading or trailing whitespace')]
}

function checkPorts(field: string, ports: readonly unknown[]): FieldError[] {
  const names = new Set<string>()
  return faultsOfEach(ports, (port, index) => {
    const here = `${field}[${index}]`
    const name = textIn(port, 'name')
    const errors: FieldError[] = []
    if (name !== '') {
      const syntax = checkPortName(`${here}.name`, name)
      if (syntax.length > 0) errors.push(...syntax)
      else if (names.has(name)) errors.push(duplicate(`${here}.name`, name))
      else names.add(name)
    }
    const number = numberIn(port, 'containerPort') ?? 0
    errors.push(
      ...(number === 0 ? [required(`${here}.containerPort`)] : checkPortNumber(`${here}.containerPort`, number)),
    )
    const hostPort = numberIn(port, 'hostPort') ?? 0
    if (hostPort !== 0) errors.push(...checkPortNumber(`${here}.hostPort`, hostPort))
    const protocol = textIn(port, 'protocol')
    if (protocol === '') errors.push(required(`${here}.protocol`))
    else if (!protocols.includes(protocol)) errors.push(unsupported(`${here}.protocol`, protocol, protocols))
    return errors
  })
}

function checkMounts(field: string, mounts: readonly unknown[], volumes: ReadonlySet<string>): FieldError[] {
  const places = new Set<string>()
  return faultsOfEach(mounts, (mount, index) => {
    const here = `${field}[${index}]`
    const [name, path, subPath] = [textIn(mount, 'name'), textIn(mount, 'mountPath'), textIn(mount, 'subPath')]
    const errors: FieldError[] = []
    if (name === '') errors.push(required(`${here}.name`))
    else if (!volumes.has(name)) errors.push(notFoundField(`${here}.name`, name))
    if (path === '') errors.push(required(`${here}.mountPath`))
    else if (places.has(path)) errors.push(invalid(`${here}.mountPath`, path, 'must be unique'))
    places.add(path)
    // A real API server names this field without the index.
    if (subPath !== '') errors.push(...checkInnerPath(`${field}.subPath`, subPath))
    const expression = textIn(mount, 'subPathExpr')
    if (expression !== '') errors.push(...checkInnerPath(`${field}.subPathExpr`, expression))
    if (subPath !== '' && expression !== '') {
      errors.push(
        invalid(`${here}.subPathExpr`, fieldIn(mount, 'subPathExpr'), 'subPathExpr and subPath are mutually exclusive'),
      )
    }
    return errors
  })
}

/** A relative path that stays below its start. */
export function checkInnerPath(field: string, path: string): FieldError[] {
  if (path.startsWith('/')) return [invalid(field, path, 'must be a relative path')]
  return path.split('/').includes('..') ? [invalid(field, path, "must not contain '..'")] : []
}
