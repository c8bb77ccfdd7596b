import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { core, missing } from './type-rules.ts'
import { checkTaints } from './validation/pod-rules.ts'
import { listIn } from './validation/json-access.ts'

const quantities = z.record(z.string(), z.string())

export const nodeSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Node'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ unschedulable: z.boolean().optional() }).optional(),
  status: z
    .looseObject({
      capacity: quantities.optional(),
      allocatable: quantities.optional(),
      conditions: z.array(conditionSchema.loose()).optional(),
      addresses: z.array(z.looseObject({ type: z.string(), address: z.string() })).optional(),
      nodeInfo: z
        .looseObject({
          kubeletVersion: z.string().optional(),
          osImage: z.string().optional(),
          kernelVersion: z.string().optional(),
          containerRuntimeVersion: z.string().optional(),
        })
        .optional(),
    })
    .optional(),
})

/** On a Node whose cards are only declared, and do not exist. */
export const simulatedCardsLabel = 'sluice.dev/simulated-cards'

export type Node = z.infer<typeof nodeSchema>

export function isNodeReady(node: Node): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

export const nodeKind = coreKind(nodeSchema, {
  kind: 'Node',
  plural: 'nodes',
  shortNames: ['no'],
  namespaced: false,
  hasStatus: true,
  selectableFields: [{ field: 'spec.unschedulable', whenMissing: 'false' }],
  refusedSubresources: ['proxy'],
  types: {
    [`${core}Node`]: { parts: ['spec'] },
    [`${core}NodeStatus`]: {
      complete: (status) => (status['capacity'] ? missing({ allocatable: status['capacity'] })(status) : status),
    },
  },
  // Nodes register with their status.
  initialStatus: (_node, sent) => sent ?? {},
  validate: ({ spec }) => checkTaints(listIn(spec, 'taints')),
  columns: [
    { name: 'Status', type: 'string', cell: statusText },
    { name: 'Roles', type: 'string', cell: rolesText },
    coreAgeColumn,
    { name: 'Version', type: 'string', cell: ({ status }) => status?.nodeInfo?.kubeletVersion ?? '' },
    { name: 'Internal-IP', type: 'string', priority: 1, cell: (node) => addressOf(node, 'InternalIP') },
    { name: 'External-IP', type: 'string', priority: 1, cell: (node) => addressOf(node, 'ExternalIP') },
    { name: 'OS-Image', type: 'string', priority: 1, cell: ({ status }) => status?.nodeInfo?.osImage || '<unknown>' },
    {
      name: 'Kernel-Version',
      type: 'string',
      priority: 1,
      cell: ({ status }) => status?.nodeInfo?.kernelVersion || '<unknown>',
    },
    {
      name: 'Container-Runtime',
      type: 'string',
      priority: 1,
      cell: ({ status }) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
    },
  ],
})

function statusText(node: Node): string {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  return node.spec?.unschedulable ? `${word},SchedulingDisabled` : word
}

const rolePrefix = 'node-role.kubernetes.io/'

function rolesText({ metadata }: Node): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length)
    return key === 'kubernetes.io/role' ? value : ''
  })
  return [...new Set(roles.filter((role) => role !== ''))].sort().join(',') || '<none>'
}

function addressOf({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>'
}
