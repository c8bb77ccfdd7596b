import type { Kind } from '../../../src/resources/kind.ts'
import type { ContainerProgram } from './container-programs.ts'

/** What the Pods of an object do, as the fuzzer has specified it. */
export interface WantedPods {
  readonly program: ContainerProgram
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  readonly cards: number
  readonly replicas: number
  /** Whether Pods of an earlier template may still exist, because the newest one never becomes available. */
  readonly mixed: boolean
}

/** An object that the fuzzer has written and not deleted. */
export interface WantedObject {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
  readonly pods?: WantedPods | undefined
  /** Fields that must be as they were last written. */
  readonly fields: Readonly<Record<string, unknown>>
  /** How often one of its processes was killed by the fuzzer. */
  readonly kills: number
}

export function idOf({ kind, namespace, name }: Pick<WantedObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind.plural} ${namespace ?? ''}/${name}`
}
