import type { Kind } from '../../../src/resources/kind.ts'
import type { ContainerProgram } from './container-programs.ts'

/** What Pods of an object do, as the fuzzer told it; `undefined` for objects without Pods. */
export interface WantedPods {
  readonly program: ContainerProgram
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  readonly cards: number
  readonly replicas: number
  /** An earlier template may still have Pods, where the newest one never becomes available. */
  readonly mixed: boolean
}

/** An object that the fuzzer wrote and has not deleted. */
export interface WantedObject {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
  readonly pods?: WantedPods | undefined
  /** Fields that must be as they were written last. */
  readonly fields: Readonly<Record<string, unknown>>
  /** How often one of its processes was killed by the fuzzer. */
  readonly kills: number
}

export function idOf({ kind, namespace, name }: Pick<WantedObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind.plural} ${namespace ?? ''}/${name}`
}
