import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { selectorText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import type { JsonObject } from './json-value.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { labelSelectorSchema } from './pod-template.ts'
import { missing } from './type-rules.ts'
import { checkNetworkPolicy } from './validation/network-policy-rules.ts'

const peerSchema = z.looseObject({
  podSelector: labelSelectorSchema.optional(),
  namespaceSelector: labelSelectorSchema.optional(),
  ipBlock: z.looseObject({ cidr: z.string().default(''), except: z.array(z.string()).optional() }).optional(),
})

const portSchema = z.looseObject({
  protocol: z.string().optional(),
  port: z.union([z.int(), z.string()]).optional(),
  endPort: z.int().optional(),
})

const ports = z.array(portSchema).optional()
const peers = z.array(peerSchema).optional()

export const networkPolicySchema = z.looseObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('NetworkPolicy'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    podSelector: labelSelectorSchema.optional(),
    policyTypes: z.array(z.string()).optional(),
    ingress: z.array(z.looseObject({ from: peers, ports })).optional(),
    egress: z.array(z.looseObject({ to: peers, ports })).optional(),
  }),
})

export type NetworkPolicy = z.infer<typeof networkPolicySchema>
export type NetworkPolicyPeer = z.infer<typeof peerSchema>
export type NetworkPolicyPort = z.infer<typeof portSchema>

const networking = 'io.k8s.api.networking.v1.'

export const networkPolicyKind = coreKind(networkPolicySchema, {
  group: 'networking.k8s.io',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  shortNames: ['netpol'],
  hasGeneration: true,
  validate: checkNetworkPolicy,
  types: {
    [`${networking}NetworkPolicy`]: { parts: ['spec'] },
    [`${networking}NetworkPolicySpec`]: { complete: completeSpec },
    [`${networking}NetworkPolicyPort`]: { complete: (port) => ({ ...port, protocol: port['protocol'] ?? 'TCP' }) },
  },
  columns: [
    { name: 'Pod-Selector', type: 'string', cell: ({ spec }) => selectorText(spec.podSelector) || '<none>' },
    coreAgeColumn,
  ],
})

/** A policy that does not mention egress is only about ingress. */
function completeSpec(spec: JsonObject): JsonObject {
  const { egress, policyTypes } = spec
  if (Array.isArray(policyTypes) && policyTypes.length > 0) return missing({ podSelector: {} })(spec)
  const saysEgress = Array.isArray(egress) && egress.length > 0
  return { podSelector: {}, ...spec, policyTypes: saysEgress ? ['Ingress', 'Egress'] : ['Ingress'] }
}
