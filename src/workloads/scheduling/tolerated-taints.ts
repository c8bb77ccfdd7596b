import { z } from 'zod'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'

const taintSchema = z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() })
const tolerationSchema = z.looseObject({
  key: z.string().optional(),
  operator: z.string().optional(),
  value: z.string().optional(),
  effect: z.string().optional(),
  tolerationSeconds: z.number().optional(),
})
const taintsSchema = z.array(taintSchema)
const tolerationsSchema = z.array(tolerationSchema)

export type Taint = z.infer<typeof taintSchema>
type Toleration = z.infer<typeof tolerationSchema>

/** The first taint that keeps the Pod off the node. `PreferNoSchedule` keeps none off: there is only one node. */
export function untoleratedTaint(pod: Pod, node: Node): Taint | undefined {
  const tolerations = tolerationsOf(pod)
  return taintsOf(node).find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)),
  )
}

export function drivesPodsAway(node: Node | undefined): boolean {
  return node !== undefined && taintsOf(node).some(({ effect }) => effect === 'NoExecute')
}

/** How long a Pod may stay on a node whose taints evict Pods; `undefined`: as long as it likes. */
export function toleratedMs(pod: Pod, node: Node): number | undefined {
  const tolerations = tolerationsOf(pod)
  let shortest: number | undefined
  for (const taint of taintsOf(node)) {
    if (taint.effect !== 'NoExecute') continue
    const used = tolerations.filter((toleration) => tolerates(toleration, taint))
    if (used.length === 0) return 0
    for (const { tolerationSeconds } of used) {
      if (tolerationSeconds === undefined) continue
      shortest = Math.min(shortest ?? Infinity, Math.max(0, tolerationSeconds) * 1000)
    }
  }
  return shortest
}

function taintsOf(node: Node): readonly Taint[] {
  const taints = taintsSchema.safeParse(node.spec?.['taints'])
  return taints.success ? taints.data : []
}

function tolerationsOf(pod: Pod): readonly Toleration[] {
  const tolerations = tolerationsSchema.safeParse(pod.spec['tolerations'])
  return tolerations.success ? tolerations.data : []
}

function tolerates({ key = '', operator = 'Equal', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false
  if (key !== '' && key !== taint.key) return false
  // Without a key it tolerates every taint, which requires `Exists`.
  return operator === 'Exists' || (key !== '' && operator === 'Equal' && value === (taint.value ?? ''))
}
