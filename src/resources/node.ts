import { z } from 'zod'
import { ageColumn } from './age.ts'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'

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
      nodeInfo: z.looseObject({ kubeletVersion: z.string().optional() }).optional(),
    })
    .optional(),
})

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
  columns: [
    { name: 'Status', type: 'string', cell: (node) => (isNodeReady(node) ? 'Ready' : 'NotReady') },
    { name: 'Roles', type: 'string', cell: () => 'control-plane,worker' },
    ageColumn,
    { name: 'Version', type: 'string', jsonPath: '.status.nodeInfo.kubeletVersion' },
  ],
})
