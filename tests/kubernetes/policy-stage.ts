import { afterEach, expect } from 'vitest'
import type { ContractServer } from './contract-server.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
export const policies = `${group}/validatingadmissionpolicies`
export const bindings = `${group}/validatingadmissionpolicybindings`

export type Fields = Record<string, unknown>

export const everyConfigMap = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
  ],
}

/** Constraints on one resource, or on a part of it such as `pods/exec`. */
export const about = (resource: string, operation: string, apiGroup = '') => ({
  resourceRules: [{ apiGroups: [apiGroup], apiVersions: ['v1'], operations: [operation], resources: [resource] }],
})

export const policyOf = (name: string, spec: Fields) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: { matchConstraints: everyConfigMap, ...spec },
})

export const bindingOf = (name: string, spec: Fields) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName: name, validationActions: ['Deny'], ...spec },
})

const made: Array<() => Promise<unknown>> = []

/** What a test has made goes with it: all tests share a server. */
export function removePoliciesAfterEach(): void {
  afterEach(async () => {
    for (const remove of made.splice(0).toReversed()) await remove()
  })
}

async function make(server: ContractServer, path: string, object: { readonly metadata: { readonly name: string } }) {
  const answer = await server.http('POST', path, object)
  expect([answer.code, answer.text]).toEqual([201, expect.anything()])
  made.push(() => server.http('DELETE', `${path}/${object.metadata.name}`))
}

/** A policy that counts in the test's namespace only. */
export async function enforce(server: ContractServer, spec: Fields, binding: Fields = {}): Promise<string> {
  const name = server.namespace
  const here = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': server.namespace } } }
  await make(server, policies, policyOf(name, spec))
  await make(server, bindings, bindingOf(name, { matchResources: here, ...binding }))
  return name
}

/** The words in which a policy refuses something. */
export const refusedBy = (name: string, what: string, why: string) =>
  `${what} is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${why}`
