import { expect } from 'vitest'
import type { ContractServer } from './contract-server.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const name = 'parameters-are-followed'

/**
 * Makes a policy about nothing that takes ConfigMaps as parameters, and leaves it there. A real server stops to follow
 * parameters of a kind with the last policy that takes them, and does not begin again for the next one.
 */
export async function followParameters(server: ContractServer): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }]
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: { resourceRules: rules },
    validations: [{ expression: 'true' }],
  }
  const policy = { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec }
  const binding = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { [name]: 'nowhere' } } },
      paramRef: { name: 'nothing', namespace: 'default', parameterNotFoundAction: 'Allow' },
    },
  }
  const made = [
    await server.http('POST', `${group}/validatingadmissionpolicies`, policy),
    await server.http('POST', `${group}/validatingadmissionpolicybindings`, binding),
  ]
  // Another test may have made it before.
  for (const { code } of made) expect([201, 409]).toContain(code)
}
