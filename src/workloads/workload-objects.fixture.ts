import type { Deployment } from '../resources/deployment.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import type { Pod } from '../resources/pod.ts'
import type { ReplicaSet } from '../resources/replica-set.ts'

/** When the objects of these tests were created, unless they say otherwise. */
export const madeAt = Date.UTC(2030, 0, 1)

export const template = (image = 'app:1') => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [{ name: 'main', image }],
    restartPolicy: 'Always' as const,
    terminationGracePeriodSeconds: 30,
  },
})

interface PodFacts {
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  readonly ready?: boolean
  readonly readyAt?: number
  readonly node?: string
  readonly createdAt?: number
  readonly leaving?: boolean
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly finalizers?: string[]
  readonly restarts?: number
  readonly finishedAt?: number
  readonly reason?: string
}

export function pod(name: string, facts: PodFacts = {}): Pod {
  const { phase = facts.ready ? 'Running' : 'Pending', createdAt = madeAt, restarts = 0 } = facts
  const terminated =
    facts.finishedAt === undefined ? {} : { terminated: { exitCode: 1, finishedAt: timestamp(facts.finishedAt) } }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      creationTimestamp: timestamp(createdAt),
      ...(facts.labels && { labels: facts.labels }),
      ...(facts.annotations && { annotations: facts.annotations }),
      ...(facts.finalizers && { finalizers: facts.finalizers }),
      ...(facts.leaving && { deletionTimestamp: timestamp(madeAt) }),
    },
    spec: { ...template().spec, ...(facts.node !== undefined && { nodeName: facts.node }) },
    status: {
      phase,
      ...(facts.reason !== undefined && { reason: facts.reason }),
      conditions: facts.ready
        ? [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(facts.readyAt ?? createdAt) }]
        : [],
      containerStatuses: [
        {
          name: 'main',
          ready: facts.ready ?? false,
          restartCount: restarts,
          image: '',
          imageID: '',
          state: terminated,
        },
      ],
    },
  }
}

export function deployment(spec: Partial<Deployment['spec']> = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-web', generation: 1 },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: template(),
      progressDeadlineSeconds: 600,
      ...spec,
    },
  }
}

interface SetFacts {
  readonly replicas: number
  readonly available?: number
  readonly image?: string
  readonly createdAt?: number
  readonly annotations?: Record<string, string>
}

export function replicaSet(name: string, facts: SetFacts): ReplicaSet {
  const { replicas, available = replicas, image = 'app:1', createdAt = madeAt } = facts
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: timestamp(createdAt),
      ...(facts.annotations && { annotations: facts.annotations }),
    },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(image) },
    status: { replicas, availableReplicas: available, readyReplicas: available, observedGeneration: 1 },
  }
}
