import { isIP } from 'node:net'
import { type FieldError, faultsOfEach, invalid, required, tooLong, unsupported } from '../field-error.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textIn, textsIn } from './json-access.ts'
import { checkDnsLabel, checkDnsSubdomain, checkPathSegment, checkPortName, checkPortNumber } from './name-syntax.ts'

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']
const unfitSequences = ['//', '/./', '/../', '%2f', '%2F']
const unfitEnds = ['/..', '/.']
const classAnnotation = 'kubernetes.io/ingress.class'
const longestController = 250
const notAnAddress = 'must be a DNS name, not an IP address'
const wildcard = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const wildcardRule =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

export function checkIngress(ingress: Json, previous: Json | undefined): FieldError[] {
  const spec = objectIn(ingress, 'spec') ?? {}
  const rules = listIn(spec, 'rules')
  const backend = objectIn(spec, 'defaultBackend')
  const errors: FieldError[] = []
  if (rules.length === 0 && !backend) {
    errors.push(invalid('spec', fieldIn(spec, 'rules') ?? null, 'either `defaultBackend` or `rules` must be specified'))
  }
  if (backend) errors.push(...checkBackend('spec.defaultBackend', backend))
  errors.push(...faultsOfEach(rules, (rule, index) => checkRule(`spec.rules[${index}]`, rule)))
  errors.push(...faultsOfEach(listIn(spec, 'tls'), (tls, index) => checkTls(`spec.tls[${index}]`, tls)))
  const name = fieldIn(spec, 'ingressClassName')
  if (typeof name === 'string') errors.push(...checkDnsSubdomain('spec.ingressClassName', name))
  const annotated = fieldIn(objectIn(objectIn(ingress, 'metadata'), 'annotations'), classAnnotation)
  if (!previous && typeof name === 'string' && annotated !== undefined && annotated !== name) {
    const why = 'must match `ingressClassName` when both are specified'
    errors.push(invalid(`annotations.${classAnnotation}`, annotated, why))
  }
  return errors
}

function checkRule(field: string, rule: unknown): FieldError[] {
  const host = textIn(rule, 'host')
  const errors = host === '' ? [] : checkHost(`${field}.host`, host)
  if (isIP(host) !== 0) errors.unshift(invalid(`${field}.host`, host, notAnAddress))
  const http = objectIn(rule, 'http')
  if (!http) return errors
  const paths = listIn(http, 'paths')
  if (paths.length === 0) errors.push(required(`${field}.http.paths`))
  return [...errors, ...faultsOfEach(paths, (path, index) => checkPath(`${field}.http.paths[${index}]`, path))]
}

function checkHost(field: string, host: string): FieldError[] {
  if (!host.includes('*')) return checkDnsSubdomain(field, host)
  return host.length <= 253 && wildcard.test(host) ? [] : [invalid(field, host, wildcardRule)]
}

function checkPath(field: string, value: unknown): FieldError[] {
  const type = textIn(value, 'pathType')
  const path = textIn(value, 'path')
  if (type === '') return [required(`${field}.pathType`, 'pathType must be specified')]
  const errors: FieldError[] = []
  const isLoose = type === 'ImplementationSpecific'
  if (!pathTypes.includes(type)) errors.push(unsupported(`${field}.pathType`, type, pathTypes))
  else if (!path.startsWith('/') && !(isLoose && path === '')) {
    errors.push(invalid(`${field}.path`, path, 'must be an absolute path'))
  }
  if (type === 'Exact' || type === 'Prefix') {
    for (const part of unfitSequences) {
      if (path.includes(part)) errors.push(invalid(`${field}.path`, path, `must not contain '${part}'`))
    }
    for (const end of unfitEnds) {
      if (path.endsWith(end)) errors.push(invalid(`${field}.path`, path, `cannot end with '${end}'`))
    }
  }
  return [...errors, ...checkBackend(`${field}.backend`, objectIn(value, 'backend') ?? {})]
}

function checkBackend(field: string, backend: Json): FieldError[] {
  const resource = objectIn(backend, 'resource')
  const service = objectIn(backend, 'service')
  if (resource && service) return [invalid(field, '', 'cannot set both resource and service backends')]
  if (resource) return checkReference(`${field}.resource`, resource)
  if (!service) return [invalid(field, '', 'resource or service backend is required')]
  const name = textIn(service, 'name')
  const errors = name === '' ? [required(`${field}.service.name`)] : checkDnsLabel(`${field}.service.name`, name)
  return [...errors, ...checkBackendPort(field, objectIn(service, 'port'))]
}

function checkBackendPort(field: string, port: Json | undefined): FieldError[] {
  const name = textIn(port, 'name')
  const number = numberIn(port, 'number') ?? 0
  if (name !== '' && number !== 0) return [invalid(field, '', 'cannot set both port name & port number')]
  if (name !== '') return checkPortName(`${field}.service.port.name`, name)
  if (number !== 0) return checkPortNumber(`${field}.service.port.number`, number)
  return [required(field, 'port name or number is required')]
}

function checkTls(field: string, tls: unknown): FieldError[] {
  const secret = textIn(tls, 'secretName')
  return [
    ...faultsOfEach(textsIn(tls, 'hosts'), (host, index) => checkHost(`${field}.hosts[${index}]`, host)),
    ...(secret === '' ? [] : checkDnsSubdomain(`${field}.secretName`, secret)),
  ]
}

/** A reference to something in a group, by kind and name. */
function checkReference(field: string, reference: Json): FieldError[] {
  const group = fieldIn(reference, 'apiGroup')
  const errors = typeof group === 'string' && group !== '' ? checkDnsSubdomain(`${field}.apiGroup`, group) : []
  for (const part of ['kind', 'name']) {
    const value = textIn(reference, part)
    if (value === '') errors.push(required(`${field}.${part}`, `${part} is required`))
    else errors.push(...checkPathSegment(`${field}.${part}`, value))
  }
  return errors
}

export function checkIngressClass(ingressClass: Json, previous: Json | undefined): FieldError[] {
  const spec = objectIn(ingressClass, 'spec') ?? {}
  const controller = textIn(spec, 'controller')
  const before = previous && textIn(objectIn(previous, 'spec'), 'controller')
  const errors: FieldError[] = []
  if (before !== undefined && before !== controller) {
    errors.push(invalid('spec.controller', controller, 'field is immutable'))
  }
  if (controller.length > longestController) errors.push(tooLong('spec.controller', longestController))
  errors.push(...checkController('spec.controller', controller))
  const parameters = objectIn(spec, 'parameters')
  return parameters ? [...errors, ...checkParameters('spec.parameters', parameters)] : errors
}

/** `domain/path`. */
function checkController(field: string, value: string): FieldError[] {
  if (value === '') return [required(field)]
  const slash = value.indexOf('/')
  const [domain, path] = slash < 0 ? [value, ''] : [value.slice(0, slash), value.slice(slash + 1)]
  if (path === '') return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  return [
    ...checkDnsSubdomain(field, domain),
    ...(/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)
      ? []
      : [
          invalid(
            field,
            path,
            "Invalid path (e.g. '/path', regex used for validation is '^[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+$')",
          ),
        ]),
  ]
}

function checkParameters(field: string, parameters: Json): FieldError[] {
  const scope = fieldIn(parameters, 'scope')
  const namespace = fieldIn(parameters, 'namespace')
  const errors = checkReference(field, parameters)
  if (typeof scope !== 'string') return [...errors, required(`${field}.scope`)]
  if (scope !== 'Cluster' && scope !== 'Namespace') {
    return [...errors, unsupported(`${field}.scope`, scope, ['Cluster', 'Namespace'])]
  }
  if (scope === 'Namespace' && typeof namespace !== 'string') {
    const why = "`parameters.scope` is set to 'Namespace'"
    return [...errors, required(`${field}.namespace`, why)]
  }
  return errors
}
