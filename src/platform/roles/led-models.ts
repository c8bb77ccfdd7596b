import type { ReplicaForesight } from '../../autoscaler/autoscale-loop.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import { type AutoscalerRoleOptions, autoscalerRole } from './autoscaler-role.ts'
import { type OperatorRoleOptions, operatorRole } from './operator-role.ts'

export interface LedModelsOptions {
  readonly operator: Omit<OperatorRoleOptions, 'isRemote'>
  readonly autoscaler: Omit<AutoscalerRoleOptions, 'foresight'>
}

/** How long the number of replicas waits for the Pod. */
const longestHeadStartMs = 200

/**
 * Operator and autoscaler of another Kubernetes, in the order in which they start. Somebody waits for a Model that
 * sleeps, so its Pod is created first. The new number of replicas, for which nobody waits, is written when the Pod is
 * there, and not meanwhile: the two writes would share the API server, its disk and our connections. Whoever leads
 * after a crash in between finds a Pod that no Model asks for, removes it, and hears who waits.
 */
export function ledModels({ operator, autoscaler }: LedModelsOptions): readonly Component[] {
  const { clock } = operator
  const first = operatorRole({ ...operator, isRemote: true })
  const foresight: ReplicaForesight = {
    replicas: first.foresee,
    lastCall: ({ model }) =>
      new Promise((resolve) => {
        const cancel = clock.after(longestHeadStartMs, resolve)
        void first.whenLooked(model).then(() => {
          cancel()
          resolve()
        })
      }),
  }
  return [first, autoscalerRole({ ...autoscaler, foresight })]
}
