import { type FieldError, invalid, required, unsupported } from '../field-error.ts'
import { type Json, listIn, objectIn, textIn, textsIn } from './json-access.ts'
import { checkDnsSubdomain } from './name-syntax.ts'

const group = 'rbac.authorization.k8s.io'

export function checkRole(role: Json, isNamespaced: boolean): FieldError[] {
  return listIn(role, 'rules').flatMap((rule, index) => checkRule(`rules[${index}]`, rule, isNamespaced))
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
  return [...errors, ...subjects.flatMap((subject, index) => checkSubject(`subjects[${index}]`, subject, isNamespaced))]
}

function checkSubject(field: string, subject: unknown, isNamespaced: boolean): FieldError[] {
  const [kind, name, itsGroup] = [textIn(subject, 'kind'), textIn(subject, 'name'), textIn(subject, 'apiGroup')]
  const errors = name === '' ? [required(`${field}.name`)] : []
  switch (kind) {
    case 'ServiceAccount': {
      if (name !== '') errors.push(...checkDnsSubdomain(`${field}.name`, name))
      if (itsGroup !== '') errors.push(unsupported(`${field}.apiGroup`, itsGroup, ['']))
      // One that is not said is that of the binding.
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
