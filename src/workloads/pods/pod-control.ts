import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import type { PodTemplate } from '../../resources/pod-template.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { controllerReference } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'

/** What distinguishes one Pod from others of the same template. */
export interface PodIdentity {
  /** A fixed name; otherwise the owner's name and five letters. */
  readonly name?: string
  /** The prefix before the five letters, if it is not the owner's name. */
  readonly generateName?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
}

/** The Pod that an owner's template describes. */
export function podFromTemplate(owner: KubernetesObject, template: PodTemplate, identity: PodIdentity = {}) {
  const { labels, annotations, finalizers = [] } = template.metadata ?? {}
  const { name, generateName = `${owner.metadata.name}-` } = identity
  const named = name === undefined ? { generateName } : { name, generateName }
  const all = [...finalizers, ...(identity.finalizers ?? [])]
  return {
    metadata: {
      ...named,
      ...(owner.metadata.namespace !== undefined && { namespace: owner.metadata.namespace }),
      labels: { ...labels, ...identity.labels },
      annotations: { ...annotations, ...identity.annotations },
      ...(all.length > 0 && { finalizers: all }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: template.spec,
  }
}

/** Creates and deletes an owner's Pods, and records Events about it. */
export class PodControl {
  readonly #client: ClusterClient
  readonly #events: Events

  constructor(client: ClusterClient, events: Events) {
    this.#client = client
    this.#events = events
  }

  async create(owner: KubernetesObject, template: PodTemplate, identity: PodIdentity, signal: AbortSignal) {
    try {
      const pod = await this.#client.create(podKind, podFromTemplate(owner, template, identity), signal)
      this.#events.record(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
      return pod
    } catch (error) {
      if (!isNamespaceEnding(error))
        this.#events.record(owner, 'Warning', 'FailedCreate', `Error creating: ${told(error)}`)
      throw error
    }
  }

  /** False when it was already gone. */
  async delete(owner: KubernetesObject, pod: Pod, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#client.delete(podKind, refOf(pod), { uid: pod.metadata.uid }, signal)
    } catch (error) {
      if (isStatusError(error, 'NotFound', 'Conflict')) return false
      this.#events.record(owner, 'Warning', 'FailedDelete', `Error deleting: ${told(error)}`)
      throw error
    }
    this.#events.record(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
    return true
  }
}

export function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Nothing can be created in a namespace that is being deleted: no reason to retry, nor to report it. */
export function isNamespaceEnding(error: unknown): boolean {
  return isStatusError(error, 'Forbidden') && error.message.includes('because it is being terminated')
}
