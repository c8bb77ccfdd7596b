import { validatingAdmissionPolicyBindingSchema, validatingAdmissionPolicySchema } from './admission-policy-schemas.ts'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { missing } from './type-rules.ts'
import { checkPolicy, checkPolicyBinding } from './validation/policy-rules.ts'

const group = 'admissionregistration.k8s.io'
const types = 'io.k8s.api.admissionregistration.v1.'
const matchTypes = {
  [`${types}MatchResources`]: {
    complete: missing({ matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} }),
  },
  [`${types}NamedRuleWithOperations`]: { complete: missing({ scope: '*' }) },
}

/** Rules in the Common Expression Language about what may be written. They count where a binding says so. */
export const validatingAdmissionPolicyKind = coreKind(validatingAdmissionPolicySchema, {
  group,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  validate: checkPolicy,
  types: {
    ...matchTypes,
    [`${types}ValidatingAdmissionPolicy`]: { parts: ['spec'] },
    [`${types}ValidatingAdmissionPolicySpec`]: { complete: missing({ failurePolicy: 'Fail' }) },
  },
  columns: [
    { name: 'Validations', type: 'integer', cell: ({ spec }) => spec.validations?.length ?? 0 },
    {
      name: 'ParamKind',
      type: 'string',
      cell: ({ spec: { paramKind } }) => (paramKind ? `${paramKind.apiVersion}/${paramKind.kind}` : '<unset>'),
    },
    coreAgeColumn,
  ],
})

/** Where a policy counts, with which parameters, and what happens to what breaks it. */
export const validatingAdmissionPolicyBindingKind = coreKind(validatingAdmissionPolicyBindingSchema, {
  group,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
  hasGeneration: true,
  validate: checkPolicyBinding,
  types: { ...matchTypes, [`${types}ValidatingAdmissionPolicyBinding`]: { parts: ['spec'] } },
  columns: [
    { name: 'PolicyName', type: 'string', cell: ({ spec }) => spec.policyName ?? '' },
    {
      name: 'ParamRef',
      type: 'string',
      cell: ({ spec: { paramRef } }) => (paramRef ? paramText(paramRef.namespace, paramRef.name) : '<unset>'),
    },
    coreAgeColumn,
  ],
})

function paramText(namespace: string | undefined, name: string | undefined): string {
  return namespace === undefined || namespace === '' ? (name ?? '*') : `${namespace}/${name ?? '*'}`
}
