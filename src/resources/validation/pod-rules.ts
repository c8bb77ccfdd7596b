import { type FieldError, duplicate, faultsOfEach, forbidden, invalid, required, unsupported } from '../field-error.ts'
import { checkContainer } from './container-rules.ts'
import { checkEphemeralContainers } from './ephemeral-container-rules.ts'
import { type Json, fieldIn, isObject, listIn, numberIn, objectIn, textEntriesIn, textIn } from './json-access.ts'
import { checkDnsLabel, checkDnsSubdomain, checkLabels, checkQualifiedName } from './name-syntax.ts'
import { checkContainerResources } from './resource-rules.ts'
import { checkVolumes } from './volume-rules.ts'

const restartPolicies = ['Always', 'Never', 'OnFailure']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const largestInt32 = 2_147_483_647

/** A Pod itself, not a template. */
export function checkPod(pod: Json, isNew: boolean): FieldError[] {
  const spec = objectIn(pod, 'spec') ?? {}
  const early = isNew && listIn(spec, 'ephemeralContainers').length > 0
  return [
    ...checkPodSpec('spec', spec),
    ...(early ? [forbidden('spec.ephemeralContainers', 'cannot be set on create')] : []),
    ...(isNew ? checkGatesOfNew(spec) : []),
  ]
}

function checkGatesOfNew(spec: Json): FieldError[] {
  if (textIn(spec, 'nodeName') === '' || listIn(spec, 'schedulingGates').length === 0) return []
  return [forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
}

/** The spec of a Pod or of a template. */
export function checkPodSpec(field: string, spec: Json): FieldError[] {
  const volumes = checkVolumes(`${field}.volumes`, listIn(spec, 'volumes'))
  const errors = [...volumes.errors, ...checkContainers(field, spec, volumes.names)]
  if (field === 'spec') errors.push(...checkEphemeralContainers(field, spec, volumes.names))
  else if (listIn(spec, 'ephemeralContainers').length > 0) {
    errors.push(forbidden(`${field}.ephemeralContainers`, 'ephemeral containers not allowed in pod template'))
  }
  const restartPolicy = textIn(spec, 'restartPolicy')
  if (!restartPolicies.includes(restartPolicy)) {
    errors.push(unsupported(`${field}.restartPolicy`, restartPolicy, ['Always', 'OnFailure', 'Never']))
  }
  const dnsPolicy = textIn(spec, 'dnsPolicy')
  if (!dnsPolicies.includes(dnsPolicy)) errors.push(unsupported(`${field}.dnsPolicy`, dnsPolicy, dnsPolicies))
  errors.push(...checkLabels(`${field}.nodeSelector`, textEntriesIn(spec, 'nodeSelector')))
  for (const name of ['nodeName', 'serviceAccountName', 'priorityClassName']) {
    const value = textIn(spec, name)
    if (value !== '') errors.push(...checkDnsSubdomain(`${field}.${name}`, value))
  }
  for (const name of ['hostname', 'subdomain']) {
    const value = textIn(spec, name)
    if (value !== '') errors.push(...checkDnsLabel(`${field}.${name}`, value))
  }
  errors.push(...checkContainerResources(`${field}.overhead`, { limits: objectIn(spec, 'overhead') }))
  // For a Pod itself, admission reports that no class has the name.
  const runtimeClassName = field === 'spec' ? undefined : fieldIn(spec, 'runtimeClassName')
  if (typeof runtimeClassName === 'string') {
    errors.push(...checkDnsSubdomain(`${field}.runtimeClassName`, runtimeClassName))
  }
  const deadline = numberIn(spec, 'activeDeadlineSeconds')
  if (deadline !== undefined && (deadline < 1 || deadline > largestInt32)) {
    errors.push(invalid(`${field}.activeDeadlineSeconds`, deadline, `must be between 1 and ${largestInt32}, inclusive`))
  }
  errors.push(...checkSysctls(`${field}.securityContext.sysctls`, objectIn(spec, 'securityContext')))
  errors.push(...checkSchedulingGates(`${field}.schedulingGates`, listIn(spec, 'schedulingGates')))
  return [...errors, ...checkTolerations(`${field}.tolerations`, listIn(spec, 'tolerations'))]
}

function checkSchedulingGates(field: string, gates: readonly unknown[]): FieldError[] {
  const names = new Set<string>()
  return faultsOfEach(gates, (gate, index) => {
    const here = `${field}[${index}]`
    const name = textIn(gate, 'name')
    const taken = names.has(name) ? [duplicate(here, name)] : []
    names.add(name)
    return [...checkQualifiedName(here, name), ...taken]
  })
}

const longestSysctl = 253
const sysctlSegment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const sysctlPattern = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`
const sysctlName = new RegExp(sysctlPattern)

function checkSysctls(field: string, securityContext: Json | undefined): FieldError[] {
  const names = new Set<string>()
  return faultsOfEach(listIn(securityContext, 'sysctls'), (sysctl, index) => {
    const here = `${field}[${index}].name`
    const name = textIn(sysctl, 'name')
    if (name === '') return [required(here)]
    if (name.length > longestSysctl || !sysctlName.test(name)) {
      return [invalid(here, name, `must have at most ${longestSysctl} characters and match regex ${sysctlPattern}`)]
    }
    const taken = names.has(name) ? [duplicate(here, name)] : []
    names.add(name)
    return taken
  })
}

function checkContainers(field: string, spec: Json, volumes: ReadonlySet<string>): FieldError[] {
  const names = new Set<string>()
  const containers = listIn(spec, 'containers')
  const check = (list: string, isInit: boolean) =>
    faultsOfEach(listIn(spec, list), (container, index) => {
      const here = `${field}.${list}[${index}]`
      const name = textIn(container, 'name')
      const taken = names.has(name) && name !== '' ? [duplicate(`${here}.name`, name)] : []
      names.add(name)
      return [...checkContainer(here, isObject(container) ? container : {}, volumes, isInit), ...taken]
    })
  const none = containers.length === 0 ? [required(`${field}.containers`)] : []
  return [...none, ...check('containers', false), ...check('initContainers', true)]
}

export function checkTolerations(field: string, tolerations: readonly unknown[]): FieldError[] {
  return faultsOfEach(tolerations, (toleration, index) => {
    const here = `${field}[${index}]`
    const [key, operator, value] = [
      textIn(toleration, 'key'),
      textIn(toleration, 'operator'),
      textIn(toleration, 'value'),
    ]
    const errors = key === '' ? [] : checkQualifiedName(`${here}.key`, key)
    if (key === '' && operator !== 'Exists') {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      errors.push(invalid(`${here}.operator`, operator, why))
    }
    if (operator === 'Exists' && value !== '') {
      errors.push(invalid(`${here}.operator`, value, "value must be empty when `operator` is 'Exists'"))
    } else if (!['', 'Equal', 'Exists'].includes(operator)) {
      errors.push(unsupported(`${here}.operator`, operator, ['Equal', 'Exists']))
    }
    const seconds = fieldIn(toleration, 'tolerationSeconds')
    const effect = textIn(toleration, 'effect')
    if (seconds !== undefined && effect !== 'NoExecute') {
      errors.push(invalid(`${here}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    }
    if (effect !== '' && !taintEffects.includes(effect))
      errors.push(unsupported(`${here}.effect`, effect, taintEffects))
    return errors
  })
}

/** The taints of a Node; a real API server names the field like this. */
export function checkTaints(taints: readonly unknown[]): FieldError[] {
  return faultsOfEach(taints, (taint, index) => {
    const here = `metadata.taints[${index}]`
    const effect = textIn(taint, 'effect')
    const known = taintEffects.includes(effect)
    return [
      ...checkQualifiedName(`${here}.key`, textIn(taint, 'key')),
      ...(effect === ''
        ? [required(`${here}.effect`)]
        : known
          ? []
          : [unsupported(`${here}.effect`, effect, taintEffects)]),
    ]
  })
}
