import { expect } from 'vitest'
import { drainingAnnotation, modelHashLabel } from '../resources/model-labels.ts'
import { type Model, modelSchema } from '../resources/model.ts'
import { type Pod, podSchema } from '../resources/pod.ts'
import { failuresAnnotation } from './model-pod.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { planPods } from './plan-pods.ts'
import { builtInProfiles } from './resource-profile.ts'

export const now = Date.UTC(2030, 0, 1)
export const card = 'nvidia.com/gpu-l40s'

export function modelWith(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): Model {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice', uid: 'model-uid', generation: 3, ...metadata },
    spec: { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', maxReplicas: 5, ...spec },
  })
}

export function factsWith(facts: Partial<OperatorFacts> = {}): OperatorFacts {
  return {
    now,
    registry: 'registry.local-1.localhost',
    version: '0.1.0',
    files: { state: 'present' },
    profiles: { table: builtInProfiles, cardKinds: [card] },
    drainDeadlineMs: 600_000,
    drainingMs: ({ metadata }) => (facts.now ?? now) - Date.parse(metadata.annotations?.[drainingAnnotation] ?? ''),
    busy: () => 0,
    suffix: (index) => `rand${index}`,
    ...facts,
  }
}

const freshHash =
  planPods(modelWith({ replicas: 1 }), [], factsWith()).create[0]?.metadata.labels?.[modelHashLabel] ?? ''

export interface PodFacts {
  hash?: string
  ready?: boolean
  /** For how many milliseconds. */
  draining?: number
  terminating?: boolean
  phase?: string
  failures?: number
  unschedulable?: string
  container?: Record<string, unknown>
  status?: Record<string, unknown>
  created?: string
  owner?: string
}

export function podNamed(name: string, about: PodFacts = {}): Pod {
  const { hash = freshHash, ready = false, owner = 'model-uid', phase = ready ? 'Running' : 'Pending' } = about
  const draining = about.draining === undefined ? undefined : new Date(now - about.draining).toISOString()
  const container = { name: 'engine', ready, restartCount: 0, image: 'i', imageID: 'i', ...about.container }
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'sluice',
      uid: `uid-${name}`,
      creationTimestamp: about.created ?? '2029-12-31T00:00:00Z',
      labels: { [modelHashLabel]: hash },
      annotations: {
        ...(draining === undefined ? {} : { [drainingAnnotation]: draining }),
        ...(about.failures === undefined ? {} : { [failuresAnnotation]: String(about.failures) }),
      },
      ...(about.terminating ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}),
      ownerReferences: [{ apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'm', uid: owner, controller: true }],
    },
    spec: { containers: [{ name: 'engine' }] },
    status: {
      phase,
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False' },
        ...(about.unschedulable
          ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: about.unschedulable }]
          : []),
      ],
      containerStatuses: about.container ? [container] : [],
      ...about.status,
    },
  })
}

export interface Case {
  name: string
  spec?: Record<string, unknown>
  pods?: Pod[]
  facts?: Partial<OperatorFacts>
  create?: number
  recall?: string[]
  drain?: string[]
  delete?: string[]
  phase?: string
  message?: RegExp
}

export const busyBy = (table: Record<string, number | undefined>) => ({ busy: (name: string) => table[name] })

/** What is planned for this row. */
export function plannedIn({ spec, pods = [], facts }: Case) {
  const { create, recall, drain, delete: remove, status } = planPods(modelWith(spec), pods, factsWith(facts))
  const names = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.name).sort()
  const counts = { create: create.length, recall: names(recall), drain: names(drain), delete: names(remove) }
  return { ...counts, phase: status.phase, message: status.message }
}

const anyPhase: unknown = expect.any(String)

/** What the row expects: nothing is done that it does not name. */
export function wantedIn({ create = 0, recall = [], drain = [], delete: remove = [], phase, message = /./ }: Case) {
  const said: unknown = expect.stringMatching(message)
  return { create, recall, drain, delete: remove, phase: phase ?? anyPhase, message: said }
}

export const ready = { ready: true }
export const stale = { ready: true, hash: 'old' }
