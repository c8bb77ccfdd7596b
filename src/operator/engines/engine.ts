import type { Container, Pod } from '../../resources/pod.ts'
import type { Quantities } from '../resource-profile.ts'
import type { WeightsCache } from '../weights/weights-cache.ts'

/**
 * An engine is data: how a program that speaks the OpenAI API is started, and what its Pods need. Words in braces, such
 * as `{modelPath}`, are filled in for each Pod.
 */
export interface Engine {
  readonly image: string
  /** Instead of the image's own entry point. */
  readonly command?: readonly string[] | undefined
  /** The Model's own arguments come after these, so that they win. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly port: number
  /** Answered with 200 when, and only when, requests can be served; without a key. */
  readonly healthPath: string
  /** How the program is told the key that requests must carry. `none`: it does not check keys. */
  readonly key: EngineKey
  /** Whether it answers `/v1/responses` itself. Else the gateway makes chat completions of them. */
  readonly responses?: boolean | undefined
  /** How it is told the Model's LoRA adapters. Not set: it has none. */
  readonly adapters?: EngineAdapters | undefined
  /** How many requests it accepts before it refuses more; the others wait at the gateway. Not set: it queues them. */
  readonly requestCapacity?: number | undefined
  /** How long loading may take in all before the container is restarted. */
  readonly startupSeconds: number
  /** How long a start may show no progress before its Pod is given up; 0: never. */
  readonly stalledSeconds: number
  /** How long a load that says how far it is may not move before the Model's status says so; 0: for ever. */
  readonly quietSeconds: number
  /** Lines of its log that say how far it is, such as `shards: {percent}% Completed`. */
  readonly progressLines?: readonly string[] | undefined
  readonly graceSeconds: number
  /** The size of /dev/shm, or `unlimited`: as much as the container's memory. */
  readonly sharedMemory?: string | undefined
  /** Besides the cards. What a profile gives comes first. */
  readonly requests?: Quantities | undefined
  readonly requestsPerCard?: Quantities | undefined
  readonly imagePullPolicy?: string | undefined
  readonly imagePullSecrets?: readonly string[] | undefined
  readonly runtimeClassName?: string | undefined
  readonly securityContext?: Readonly<Record<string, unknown>> | undefined
  readonly podSecurityContext?: Readonly<Record<string, unknown>> | undefined
  readonly volumes?: NonNullable<Pod['spec']['volumes']> | undefined
  readonly volumeMounts?: NonNullable<Container['volumeMounts']> | undefined
  readonly weightsCache?: WeightsCache | undefined
  /** What a Model's files have to be, so that others are refused before a start: one model in GGUF. */
  readonly files?: 'gguf' | undefined
  /**
   * The options that a Model's `args` may have, so that others are refused before a start. Not set: it knows itself.
   */
  readonly options?: readonly string[] | undefined
  /** How several Pods serve one model together. `none`: it runs on one node. Not set: members read their variables. */
  readonly group?: 'none' | EngineGroup | undefined
}

/** What the members of a serving group are told in addition: how they find each other. */
export interface EngineGroup {
  /** Of every member, after the engine's own arguments and before those of the Model. */
  readonly args?: readonly string[] | undefined
  /** Of all but the leader, after `args`. */
  readonly workerArgs?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Flags with which a Model says itself how its members meet: one that sets them otherwise gets no such arguments. */
  readonly unless?: readonly string[] | undefined
}

export interface EngineAdapters {
  /** Written once, if the Model has any. */
  readonly args: readonly string[]
  /** Written after them for each: `{adapterName}`, which requests say, and `{adapterPath}`, where its files are. */
  readonly each: string
}

export type EngineKey = 'none' | { readonly variable: string } | { readonly flag: string }

/** By the name in `spec.engine`. */
export type EngineTable = Readonly<Record<string, Engine>>

export function resolveEngine(name: string, table: EngineTable): Engine | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
