import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { controllerRevisionKind } from '../resources/controller-revision.ts'
import { deploymentKind } from '../resources/deployment.ts'
import { jobKind } from '../resources/job.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import type { PersistentVolumeClaim } from '../resources/persistent-volume-claim.ts'
import type { Pod } from '../resources/pod.ts'
import { replicaSetKind } from '../resources/replica-set.ts'
import { statefulSetKind } from '../resources/stateful-set.ts'
import { Deployments } from './deployment/deployments.ts'
import { AbandonedJobPods } from './job/abandoned-job-pods.ts'
import { FinishedJobs } from './job/finished-jobs.ts'
import { Jobs } from './job/jobs.ts'
import { OwnedObjects } from './owned/owned-objects.ts'
import { FinishedPods } from './pods/finished-pods.ts'
import { ReplicaSets } from './replica-set/replica-sets.ts'
import { StatefulSets } from './stateful-set/stateful-sets.ts'

export interface Runs {
  run(signal: AbortSignal): Promise<void>
}

export interface WorkloadRunnersOptions {
  readonly client: ClusterClient
  readonly watch: <T extends KubernetesObject>(kind: Kind<T>) => ObjectCache<T>
  readonly pods: ObjectCache<Pod>
  readonly claims: ObjectCache<PersistentVolumeClaim>
  /** How many finished Pods are kept. */
  readonly finishedPodLimit: number
  readonly clock: Clock
  readonly log: Logger
}

/** The controllers of the kinds that create Pods. */
export function workloadRunners(options: WorkloadRunnersOptions): readonly Runs[] {
  const { client, watch, pods, claims, finishedPodLimit, clock, log } = options
  const eventsOf = (component: string) => new EventRecorder({ client, component, clock, log })
  const ownedPods = new OwnedObjects(pods)
  const deployments = watch(deploymentKind)
  const replicaSets = watch(replicaSetKind)
  const ownedReplicaSets = new OwnedObjects(replicaSets)
  const revisions = watch(controllerRevisionKind)
  const jobShared = { client, jobs: watch(jobKind), pods, ownedPods, clock, log }
  const shared = { client, replicaSets, ownedReplicaSets, pods, ownedPods, clock, log }
  return [
    new Deployments({ ...shared, deployments, events: eventsOf('deployment-controller') }),
    new ReplicaSets({ ...shared, events: eventsOf('replicaset-controller') }),
    new Jobs({ ...jobShared, events: eventsOf('job-controller') }),
    new AbandonedJobPods(jobShared),
    new FinishedJobs(jobShared),
    new FinishedPods({ client, pods, limit: finishedPodLimit, clock, log }),
    new StatefulSets({
      client,
      statefulSets: watch(statefulSetKind),
      revisions,
      ownedRevisions: new OwnedObjects(revisions),
      claims,
      pods,
      ownedPods,
      events: eventsOf('statefulset-controller'),
      clock,
      log,
    }),
  ]
}
