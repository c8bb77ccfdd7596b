import { type FieldError, faultsOfEach, forbidden, invalid, required, unsupported } from '../field-error.ts'
import { checkJobPolicies } from './job-policy-rules.ts'
import { type Json, fieldIn, isObject, listIn, numberIn, objectIn, textEntriesIn, textIn } from './json-access.ts'
import { checkLabelSelector, isEmptySelector, selects } from './label-selector-rules.ts'
import { checkDnsLabel, checkLabels, checkNotNegative } from './name-syntax.ts'
import { checkPodSpec } from './pod-rules.ts'
import { checkClaim } from './storage-rules.ts'

const percentRule =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

export function checkDeployment(deployment: Json): FieldError[] {
  const spec = objectIn(deployment, 'spec') ?? {}
  const errors = [...checkCounts(spec, ['replicas']), ...checkSelected(spec, 'deployment', 'ReplicaSet')]
  errors.push(...checkStrategy('spec.strategy', objectIn(spec, 'strategy') ?? {}))
  errors.push(...checkCounts(spec, ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']))
  const deadline = numberIn(spec, 'progressDeadlineSeconds')
  if (deadline !== undefined && deadline <= (numberIn(spec, 'minReadySeconds') ?? 0)) {
    errors.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'))
  }
  return errors
}

export function checkReplicaSet(replicaSet: Json): FieldError[] {
  const spec = objectIn(replicaSet, 'spec') ?? {}
  return [...checkCounts(spec, ['replicas', 'minReadySeconds']), ...checkSelected(spec, 'deployment', 'ReplicaSet')]
}

export function checkStatefulSet(statefulSet: Json): FieldError[] {
  const spec = objectIn(statefulSet, 'spec') ?? {}
  const errors: FieldError[] = []
  const policy = textIn(spec, 'podManagementPolicy')
  if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    errors.push(invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"))
  }
  const service = textIn(spec, 'serviceName')
  if (service !== '') errors.push(...checkDnsLabel('spec.serviceName', service))
  errors.push(...checkUpdateStrategy('spec.updateStrategy', objectIn(spec, 'updateStrategy') ?? {}))
  return [
    ...errors,
    ...checkCounts(spec, ['replicas', 'minReadySeconds', 'revisionHistoryLimit']),
    ...checkSelected(withClaimVolumes(spec), 'statefulset', 'StatefulSet'),
    ...faultsOfEach(claimTemplates(spec), (claim, index) =>
      checkClaim(claim).map((error) => ({ ...error, field: `spec.volumeClaimTemplates[${index}].${error.field}` })),
    ),
  ]
}

function claimTemplates(spec: Json): readonly Json[] {
  return listIn(spec, 'volumeClaimTemplates').filter(isObject)
}

/** The claims of a StatefulSet are volumes of its Pods, and replace those of the same name. */
function withClaimVolumes(spec: Json): Json {
  const claims = claimTemplates(spec).map((claim) => textIn(objectIn(claim, 'metadata'), 'name'))
  const ofClaims = new Set(claims)
  const template = objectIn(spec, 'template')
  const podSpec = objectIn(template, 'spec')
  if (claims.length === 0 || !podSpec) return spec
  const volumes = [
    ...claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name || 'claim' } })),
    ...listIn(podSpec, 'volumes').filter((volume) => !ofClaims.has(textIn(volume, 'name'))),
  ]
  return { ...spec, template: { ...template, spec: { ...podSpec, volumes } } }
}

export function checkPodTemplateObject(podTemplate: Json): FieldError[] {
  return checkTemplate(objectIn(podTemplate, 'template') ?? {}, 'template')
}

export function checkControllerRevision(controllerRevision: Json): FieldError[] {
  const data = fieldIn(controllerRevision, 'data')
  const missing = data === undefined || data === null ? [required('data', 'data is mandatory')] : []
  return [...missing, ...checkNotNegative('revision', numberIn(controllerRevision, 'revision'))]
}

export function checkJob(job: Json): FieldError[] {
  const spec = objectIn(job, 'spec') ?? {}
  const uid = textIn(objectIn(job, 'metadata'), 'uid')
  const errors = checkCounts(spec, [
    'parallelism',
    'completions',
    'backoffLimit',
    'activeDeadlineSeconds',
    'ttlSecondsAfterFinished',
  ])
  const selector = objectIn(spec, 'selector')
  const template = objectIn(spec, 'template') ?? {}
  if (!selector) errors.push(required('spec.selector'))
  else errors.push(...checkLabelSelector('spec.selector', selector))
  const generated = textEntriesIn(selector, 'matchLabels').map(([, value]) => value)
  if (fieldIn(spec, 'manualSelector') !== true && uid !== '' && (generated.length !== 1 || generated[0] !== uid)) {
    errors.push(invalid('spec.selector', selector ?? null, '`selector` not auto-generated'))
  }
  errors.push(...checkJobPolicies(spec), ...checkMatch(selector, template), ...checkTemplate(template))
  if (textIn(objectIn(template, 'spec'), 'restartPolicy') === 'Always') {
    errors.push(required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"'))
  }
  const mode = textIn(spec, 'completionMode')
  if (mode !== 'NonIndexed' && mode !== 'Indexed') {
    errors.push(unsupported('spec.completionMode', mode, ['NonIndexed', 'Indexed']))
  } else if (mode === 'Indexed' && numberIn(spec, 'completions') === undefined) {
    errors.push(required('spec.completions', 'when completion mode is Indexed'))
  }
  return errors
}

function checkCounts(spec: Json, fields: readonly string[]): FieldError[] {
  return fields.flatMap((field) => checkNotNegative(`spec.${field}`, numberIn(spec, field)))
}

/** The selector, and the template whose labels it must select. */
function checkSelected(spec: Json, owner: string, kind: string): FieldError[] {
  const selector = objectIn(spec, 'selector')
  const template = objectIn(spec, 'template') ?? {}
  const errors = selector ? checkLabelSelector('spec.selector', selector) : [required('spec.selector')]
  if (selector && errors.length > 0) {
    return [...errors, invalid('spec.selector', selector, 'invalid label selector')]
  }
  if (selector && isEmptySelector(selector)) {
    errors.push(invalid('spec.selector', selector, `empty selector is invalid for ${owner}`))
  }
  errors.push(...checkMatch(selector, template), ...checkTemplate(template))
  const podSpec = objectIn(template, 'spec')
  const restartPolicy = textIn(podSpec, 'restartPolicy')
  if (podSpec && restartPolicy !== 'Always') {
    errors.push(unsupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']))
  }
  if (numberIn(podSpec, 'activeDeadlineSeconds') !== undefined) {
    const why = `activeDeadlineSeconds in ${kind} is not Supported`
    errors.push(forbidden('spec.template.spec.activeDeadlineSeconds', why))
  }
  return errors
}

function checkMatch(selector: Json | undefined, template: Json): FieldError[] {
  const labels = objectIn(objectIn(template, 'metadata'), 'labels')
  if (selector && selects(selector, labels ?? {})) return []
  return [invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`')]
}

function checkTemplate(template: Json, field = 'spec.template'): FieldError[] {
  return [
    ...checkLabels(`${field}.labels`, textEntriesIn(objectIn(template, 'metadata'), 'labels')),
    ...checkPodSpec(`${field}.spec`, objectIn(template, 'spec') ?? {}),
  ]
}

function checkStrategy(field: string, strategy: Json): FieldError[] {
  const type = textIn(strategy, 'type')
  const rolling = objectIn(strategy, 'rollingUpdate')
  if (type === 'Recreate') {
    const why = "may not be specified when strategy `type` is 'Recreate'"
    return rolling ? [forbidden(`${field}.rollingUpdate`, why)] : []
  }
  if (type !== 'RollingUpdate') return [unsupported(field, strategy, ['Recreate', 'RollingUpdate'])]
  if (!rolling) return [required(`${field}.rollingUpdate`, 'this should be defaulted and never be nil')]
  const unavailable = fieldIn(rolling, 'maxUnavailable')
  const surge = fieldIn(rolling, 'maxSurge')
  const here = `${field}.rollingUpdate`
  const errors = [...checkShare(`${here}.maxUnavailable`, unavailable), ...checkShare(`${here}.maxSurge`, surge)]
  if (shareOf(unavailable) === 0 && shareOf(surge) === 0) {
    errors.push(invalid(`${here}.maxUnavailable`, unavailable, 'may not be 0 when `maxSurge` is 0'))
  }
  if (typeof unavailable === 'string' && (shareOf(unavailable) ?? 0) > 100) {
    errors.push(invalid(`${here}.maxUnavailable`, unavailable, 'must not be greater than 100%'))
  }
  return errors
}

function checkUpdateStrategy(field: string, strategy: Json): FieldError[] {
  const type = textIn(strategy, 'type')
  const rolling = objectIn(strategy, 'rollingUpdate')
  if (type === '') return [required(field)]
  if (type === 'OnDelete' && rolling) {
    return [invalid(`${field}.rollingUpdate`, rolling, "only allowed for updateStrategy 'RollingUpdate'")]
  }
  if (type !== 'OnDelete' && type !== 'RollingUpdate') {
    return [invalid(field, strategy, "must be 'RollingUpdate' or 'OnDelete'")]
  }
  return checkNotNegative(`${field}.rollingUpdate.partition`, numberIn(rolling, 'partition'))
}

/** A number of Pods, or a percentage. */
function checkShare(field: string, value: unknown): FieldError[] {
  if (typeof value === 'number') return checkNotNegative(field, value)
  return typeof value === 'string' && !/^[0-9]+%$/.test(value) ? [invalid(field, value, percentRule)] : []
}

function shareOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && value.endsWith('%') ? Number(value.slice(0, -1)) : undefined
}
