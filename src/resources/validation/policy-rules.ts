import { type FieldError, faultsOfEach, invalid, unsupported, required } from '../field-error.ts'
import { checkQualifiedName } from './name-syntax.ts'
import type {
  MatchResources,
  ResourceRule,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../admission-policy-schemas.ts'

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const actions = ['Audit', 'Deny', 'Warn']

/** What can be said without compiling the expressions. */
export function checkPolicy({ metadata, spec }: ValidatingAdmissionPolicy): FieldError[] {
  const { failurePolicy, paramKind, validations = [], auditAnnotations = [] } = spec
  const errors: FieldError[] = []
  if (failurePolicy !== undefined && !['Fail', 'Ignore'].includes(failurePolicy)) {
    errors.push(unsupported('spec.failurePolicy', failurePolicy, ['Fail', 'Ignore']))
  }
  if (paramKind && !paramKind.apiVersion) errors.push(required('spec.paramKind.apiVersion', ''))
  if (paramKind && !paramKind.kind) errors.push(required('spec.paramKind.kind', ''))
  if (spec.matchConstraints) errors.push(...checkMatch(spec.matchConstraints, 'spec.matchConstraints', true))
  else errors.push(required('spec.matchConstraints', ''))
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item'
    errors.push(required('spec.validations', why), required('spec.auditAnnotations', why))
  }
  errors.push(
    ...faultsOfEach(validations, ({ expression, message, reason }, index) => {
      const field = `spec.validations[${index}]`
      const faults = expression.trim() === '' ? [required(`${field}.expression`, 'expression is not specified')] : []
      if (message?.includes('\n'))
        faults.push(invalid(`${field}.message`, message, 'message must not contain line breaks'))
      if (reason !== undefined && !reasons.includes(reason))
        faults.push(unsupported(`${field}.reason`, reason, reasons))
      return faults
    }),
  )
  errors.push(
    ...faultsOfEach(auditAnnotations, ({ key, valueExpression }, index) => {
      const field = `spec.auditAnnotations[${index}]`
      const faults = checkQualifiedName(`${field}.key`, `${metadata.name}/${key}`)
      if (valueExpression.trim() === '')
        faults.push(required(`${field}.valueExpression`, 'valueExpression is not specified'))
      return faults
    }),
  )
  return errors
}

export function checkPolicyBinding({ spec }: ValidatingAdmissionPolicyBinding): FieldError[] {
  const { policyName, paramRef, matchResources, validationActions = [] } = spec
  const errors: FieldError[] = []
  if (!policyName) errors.push(required('spec.policyName', ''))
  if (paramRef) errors.push(...checkParamRef(paramRef))
  if (matchResources) errors.push(...checkMatch(matchResources, 'spec.matchResources', false))
  return [...errors, ...checkActions(validationActions)]
}

function checkParamRef(paramRef: NonNullable<ValidatingAdmissionPolicyBinding['spec']['paramRef']>): FieldError[] {
  const { name, selector, parameterNotFoundAction: action } = paramRef
  const errors: FieldError[] = []
  if (!name && !selector) errors.push(required('spec.paramRef', 'one of name or selector must be specified'))
  if (name && selector) {
    for (const field of ['name', 'selector']) {
      errors.push(forbiddenTogether(`spec.paramRef.${field}`))
    }
  }
  if (action === undefined) errors.push(required('spec.paramRef.parameterNotFoundAction', ''))
  else if (!['Allow', 'Deny'].includes(action)) {
    errors.push(unsupported('spec.paramRef.parameterNotFoundAction', action, ['Deny', 'Allow']))
  }
  return errors
}

function forbiddenTogether(field: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: 'Forbidden: name and selector are mutually exclusive' }
}

function checkActions(given: readonly string[]): FieldError[] {
  const field = 'spec.validationActions'
  if (given.length === 0) return [required(field, 'at least one validation action is required')]
  const errors = faultsOfEach(given, (action, index) =>
    actions.includes(action) ? [] : [unsupported(`${field}[${index}]`, action, actions)],
  )
  if (given.includes('Deny') && given.includes('Warn')) {
    const why =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    errors.push(invalid(field, given, why))
  }
  return errors
}

function checkMatch(match: MatchResources, field: string, needsRules: boolean): FieldError[] {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match
  const errors: FieldError[] = []
  if (matchPolicy !== undefined && !['Equivalent', 'Exact'].includes(matchPolicy)) {
    errors.push(unsupported(`${field}.matchPolicy`, matchPolicy, ['Equivalent', 'Exact']))
  }
  if (needsRules && resourceRules.length === 0) errors.push(required(`${field}.resourceRules`, ''))
  errors.push(...faultsOfEach(resourceRules, (rule, index) => checkRule(rule, `${field}.resourceRules[${index}]`)))
  errors.push(
    ...faultsOfEach(excludeResourceRules, (rule, index) => checkRule(rule, `${field}.excludeResourceRules[${index}]`)),
  )
  return errors
}

function checkRule(rule: ResourceRule, field: string): FieldError[] {
  return (['operations', 'apiGroups', 'apiVersions', 'resources'] as const).flatMap((part) =>
    (rule[part] ?? []).length === 0 ? [required(`${field}.${part}`, '')] : [],
  )
}
