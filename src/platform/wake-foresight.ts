import type { AdmissionPlugin, AdmissionRequest } from '../apiserver/admission/admission.ts'
import type { ReplicaForesight } from '../autoscaler/autoscale-loop.ts'
import type { ComingReplicas, Foresee, TakeBack } from '../cluster/foreseen.ts'
import { type Kind, apiVersionOf, resourceNameOf } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { modelKind } from '../resources/model.ts'
import { type Pod, podKind } from '../resources/pod.ts'

const modelVersion = apiVersionOf(modelKind)

/** Who acts on what is about to be written. */
export interface WakeActors {
  readonly operator: Foresee<ComingReplicas>
  readonly scheduler: Foresee<Pod>
  readonly node: Foresee<Pod>
}

/**
 * A wake on an embedded cluster, from the first waiting request to the process. Kubernetes needs four rounds of
 * writing, waiting until the write is durable, and watching. Here all of it happens in one turn of the event loop: each
 * part is told what the part before is about to write, and acts on it while that becomes durable.
 *
 * 1. A request waits for a Model that sleeps. The autoscaler decides on a replica, and announces it here (`replicas`)
 *    before writing it.
 * 2. The operator plans the Model's Pods as if the replica existed, and creates them.
 * 3. The API server admits each Pod, and announces it here (`admission`) before storing it. The scheduler places it as
 *    if it existed.
 * 4. The scheduler announces the node (`placement`) before the Pod is bound. The node starts its process as if it were
 *    bound.
 * 5. At the end of the turn the replica is written (`lastCall`). It comes last, since nobody waits for it. Replica, Pod
 *    and binding are committed together.
 *
 * If a write fails, what was announced is taken back in the same order, by the part that announced it. After a crash
 * there is nothing to take back: none of it was durable, and at its next start the node ends processes without a Pod.
 */
export class WakeForesight implements ReplicaForesight {
  readonly #actors: WakeActors
  readonly #gatherWrites: () => Promise<void>
  readonly admission: AdmissionPlugin

  /**
   * `gatherWrites` makes all writes of this turn of the event loop durable together. It resolves when it is time for
   * the last one.
   */
  constructor(actors: WakeActors, gatherWrites: () => Promise<void>) {
    this.#actors = actors
    this.#gatherWrites = gatherWrites
    this.admission = new PodForesight((pod) => (isOfModel(pod) ? actors.scheduler(pod) : undefined))
  }

  readonly replicas: Foresee<ComingReplicas> = (coming) => this.#actors.operator(coming)

  readonly placement: Foresee<Pod> = (pod) => {
    void this.#gatherWrites()
    return this.#actors.node(pod)
  }

  lastCall(): Promise<void> {
    return this.#gatherWrites()
  }
}

/** Announces each Pod that the cluster itself creates, right before it is stored. */
export class PodForesight implements AdmissionPlugin {
  readonly #foresee: Foresee<Pod>
  /** By the uid of the object that is being written. */
  readonly #pending = new Map<string | undefined, TakeBack>()

  constructor(foresee: Foresee<Pod>) {
    this.#foresee = foresee
  }

  hold({ operation, kind, object, user, dryRun = false }: AdmissionRequest): (() => void) | undefined {
    if (operation !== 'create' || user !== undefined || dryRun || !isPod(kind, object)) return undefined
    const takeBack = this.#foresee(object)
    if (!takeBack) return undefined
    const { uid } = object.metadata
    this.#pending.set(uid, takeBack)
    return () => {
      if (this.#pending.delete(uid)) takeBack()
    }
  }

  changed(_kind: Kind, { metadata }: KubernetesObject): void {
    this.#pending.delete(metadata.uid)
  }
}

/** Admitted objects have passed the schema of their kind, so the kind tells the type. */
function isPod(kind: Kind, _object: KubernetesObject): _object is Pod {
  return resourceNameOf(kind) === resourceNameOf(podKind)
}

/**
 * Only Model Pods: somebody may wait for them, and they need nothing that exists only after the write, such as a token.
 */
function isOfModel({ metadata: { ownerReferences = [] } }: Pod): boolean {
  return ownerReferences.some(({ apiVersion, controller }) => apiVersion === modelVersion && controller)
}
