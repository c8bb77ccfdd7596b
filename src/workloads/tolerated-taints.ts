import { z } from 'zod'
import type { Node } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'

const taintSchema = z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() })
const tolerationSchema = z.looseObject({
  key: z.string().optional(),
  operator: z.string().optional(),
  value: z.string().optional(),
  effect: z.string().optional(),
})
const taintsSchema = z.array(taintSchema)
const tolerationsSchema = z.array(tolerationSchema)

export type Taint = z.infer<typeof taintSchema>
type Toleration = z.infer<typeof tolerationSchema>

/** The first taint that keeps the Pod from the node. `PreferNoSchedule` keeps nobody: there is only one node. */
export function untoleratedTaint(pod: Pod, node: Node): Taint | undefined {
  const taints = taintsSchema.safeParse(node.spec?.['taints'])
  if (!taints.success) return undefined
  const tolerations = tolerationsSchema.safeParse(pod.spec['tolerations'])
  const tolerated = tolerations.success ? tolerations.data : []
  return taints.data.find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerated.some((toleration) => tolerates(toleration, taint)),
  )
}

function tolerates({ key = '', operator = 'Equal', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false
  if (key !== '' && key !== taint.key) return false
  // Without a key it is about all of them, which only `Exists` can say.
  return operator === 'Exists' || (key !== '' && operator === 'Equal' && value === (taint.value ?? ''))
}
