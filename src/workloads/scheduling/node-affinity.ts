import { z } from 'zod'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'

const requirementSchema = z.looseObject({
  key: z.string(),
  operator: z.string(),
  values: z.array(z.string()).optional(),
})
type Requirement = z.infer<typeof requirementSchema>

const requirements = z.array(requirementSchema).optional()
const nodeAffinitySchema = z.looseObject({
  nodeAffinity: z.looseObject({
    requiredDuringSchedulingIgnoredDuringExecution: z.looseObject({
      nodeSelectorTerms: z.array(z.looseObject({ matchExpressions: requirements, matchFields: requirements })),
    }),
  }),
})

/** Whether a node matches `spec.nodeSelector` and the required node affinity: every label, and one of the terms. */
export function isWantedNode({ spec }: Pod, { metadata }: Node): boolean {
  const labels = metadata.labels ?? {}
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false
  const parsed = nodeAffinitySchema.safeParse(spec['affinity'])
  if (!parsed.success) return true
  const { nodeSelectorTerms } = parsed.data.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
  const fields = { 'metadata.name': metadata.name }
  return nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    // An empty term matches nothing.
    if (matchExpressions.length + matchFields.length === 0) return false
    const hasLabels = matchExpressions.every((requirement) => isMet(requirement, labels))
    return hasLabels && matchFields.every((requirement) => isMet(requirement, fields))
  })
}

function isMet({ key, operator, values = [] }: Requirement, present: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(present, key) ? present[key] : undefined
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return compares(value, values, (own, bound) => own > bound)
    case 'Lt':
      return compares(value, values, (own, bound) => own < bound)
    default:
      return false
  }
}

/** Whole numbers on both sides; anything else cannot be compared. */
function compares(
  value: string | undefined,
  [bound, ...others]: readonly string[],
  compare: (own: bigint, bound: bigint) => boolean,
): boolean {
  const isWhole = (text: string | undefined): text is string => text !== undefined && /^-?\d{1,19}$/.test(text)
  return others.length === 0 && isWhole(value) && isWhole(bound) && compare(BigInt(value), BigInt(bound))
}
