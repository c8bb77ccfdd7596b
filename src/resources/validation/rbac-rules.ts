import { type FieldError, faultsOfEach, invalid, required, tooMany, unsupported } from '../field-error.ts'
import { type Json, listIn, objectIn, textIn, textsIn } from './json-access.ts'
import { checkDnsSubdomain } from './name-syntax.ts'

const group = 'rbac.authorization.k8s.io'

/** Far more than the roles of large operators have: every request of those who hold a role is judged by it. */
const mostRules = 5_000
/** Verbs, groups, resources, names and paths of all rules together. */
const mostEntries = 50_000
const mostSelectors = 1_000
const lists = ['verbs', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs']

export function checkRole(role: Json, isNamespaced: boolean): FieldError[] {
  const excess = checkSize(role)
  if (excess.length > 0) return excess
  return faultsOfEach(listIn(role, 'rules'), (rule, index) => checkRule(`rules[${index}]`, rule, isNamespaced))
}

function checkSize(role: Json): FieldError[] {
  const rules = listIn(role, 'rules')
  if (rules.length > mostRules) return [tooMany('rules', rules.length, mostRules)]
  const entries = rules.reduce<number>((sum, rule) => sum + entriesOf(rule), 0)
  if (entries > mostEntries) {
    const message = `Too many: ${entries}: the rules together must have at most ${mostEntries} verbs, groups, resources, names and paths`
    return [{ reason: 'FieldValueTooMany', field: 'rules', message }]
  }
  const selectors = listIn(objectIn(role, 'aggregationRule'), 'clusterRoleSelectors').length
  return selectors > mostSelectors ? [tooMany('aggregationRule.clusterRoleSelectors', selectors, mostSelectors)] : []
}

function entriesOf(rule: unknown): number {
  return lists.reduce((sum, list) => sum + listIn(rule, list).length, 0)
}

function checkRule(field: string, rule: unknown, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = []
  const urls = textsIn(rule, 'nonResourceURLs')
  const [groups, resources] = [textsIn(rule, 'apiGroups'), textsIn(rule, 'resources')]
  if (textsIn(rule, 'verbs').length === 0)
    errors.push(required(`${field}.verbs`, 'verbs must contain at least one value'))
  if (urls.length > 0) {
    if (isNamespaced) {
      errors.push(invalid(`${field}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'))
    }
    if (groups.length + resources.length + textsIn(rule, 'resourceNames').length > 0) {
      const why = 'rules cannot apply to both regular resources and non-resource URLs'
      errors.push(invalid(`${field}.nonResourceURLs`, urls, why))
    }
    return errors
  }
  if (groups.length === 0)
    errors.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'))
  if (resources.length === 0) {
    errors.push(required(`${field}.resources`, 'resource rules must supply at least one resource'))
  }
  return errors
}

export function checkBinding(binding: Json, isNamespaced: boolean): FieldError[] {
  const role = objectIn(binding, 'roleRef')
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  const errors: FieldError[] = []
  const roleGroup = textIn(role, 'apiGroup')
  if (role && roleGroup !== group) errors.push(unsupported('roleRef.apiGroup', roleGroup, [group]))
  const kind = textIn(role, 'kind')
  if (!kinds.includes(kind)) errors.push(unsupported('roleRef.kind', kind, kinds))
  if (textIn(role, 'name') === '') errors.push(required('roleRef.name'))
  const subjects = listIn(binding, 'subjects')
  return [
    ...errors,
    ...faultsOfEach(subjects, (subject, index) => checkSubject(`subjects[${index}]`, subject, isNamespaced)),
  ]
}

function checkSubject(field: string, subject: unknown, isNamespaced: boolean): FieldError[] {
  const [kind, name, itsGroup] = [textIn(subject, 'kind'), textIn(subject, 'name'), textIn(subject, 'apiGroup')]
  const errors = name === '' ? [required(`${field}.name`)] : []
  switch (kind) {
    case 'ServiceAccount': {
      if (name !== '') errors.push(...checkDnsSubdomain(`${field}.name`, name))
      if (itsGroup !== '') errors.push(unsupported(`${field}.apiGroup`, itsGroup, ['']))
      // The default is the binding's namespace.
      if (!isNamespaced && textIn(subject, 'namespace') === '') errors.push(required(`${field}.namespace`))
      return errors
    }
    case 'User':
    case 'Group':
      return itsGroup === group ? errors : [...errors, unsupported(`${field}.apiGroup`, itsGroup, [group])]
    default:
      return [...errors, unsupported(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group'])]
  }
}
