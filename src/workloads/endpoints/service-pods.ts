import type { ObjectCache } from '../../cluster/informer.ts'
import { type KubernetesObject, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { hasSelector, isSelected } from './endpoint-plan.ts'

/**
 * Which Pods a Service selects and which Services select a Pod, kept up to date by changes. A Pod costs nothing to
 * Services with which it has no label in common.
 */
export class ServicePods {
  readonly #pods = new LabelIndex<Pod>()
  /** By one of the labels in their selectors: a Pod without it is not selected. */
  readonly #services = new LabelIndex<Service>()

  /** Must be created before the caches fill: it only sees changes. */
  constructor(pods: ObjectCache<Pod>, services: ObjectCache<Service>) {
    pods.onChange(({ type, object, previous }) => {
      if (previous) this.#pods.remove(previous, labelsOf(previous))
      if (type !== 'deleted') this.#pods.put(object, labelsOf(object))
    })
    services.onChange(({ type, object, previous }) => {
      if (previous) this.#services.remove(previous, anchorOf(previous))
      if (type !== 'deleted') this.#services.put(object, anchorOf(object))
    })
  }

  podsOf(service: Service): readonly Pod[] {
    return [...this.#candidates(service).values()].filter((pod) => isSelected(service, pod))
  }

  /** An upper bound that only takes a few look-ups. */
  mostPodsOf(service: Service): number {
    return this.#candidates(service).size
  }

  servicesOf(pod: Pod): readonly Service[] {
    const { namespace } = pod.metadata
    const groups = labelsOf(pod).map((label) => this.#services.of(namespace, label))
    return groups.flatMap((group) => [...group.values()].filter((service) => isSelected(service, pod)))
  }

  #candidates(service: Service): ReadonlyMap<string, Pod> {
    if (!hasSelector(service)) return new Map()
    const { namespace } = service.metadata
    const groups = Object.entries(service.spec.selector ?? {}).map((label) => this.#pods.of(namespace, label))
    return groups.reduce((least, group) => (group.size < least.size ? group : least))
  }
}

type Label = readonly [key: string, value: string]

/** The objects of each namespace by their labels. */
class LabelIndex<T extends KubernetesObject> {
  readonly #groups = new Map<string, Map<string, T>>()

  of(namespace: string | undefined, label: Label): ReadonlyMap<string, T> {
    return this.#groups.get(groupKey(namespace, label)) ?? new Map<string, T>()
  }

  put(object: T, labels: readonly Label[]): void {
    for (const label of labels) {
      const key = groupKey(object.metadata.namespace, label)
      const group = this.#groups.get(key)
      if (group) group.set(keyOf(refOf(object)), object)
      else this.#groups.set(key, new Map([[keyOf(refOf(object)), object]]))
    }
  }

  remove(object: T, labels: readonly Label[]): void {
    for (const label of labels) {
      const key = groupKey(object.metadata.namespace, label)
      const group = this.#groups.get(key)
      group?.delete(keyOf(refOf(object)))
      if (group?.size === 0) this.#groups.delete(key)
    }
  }
}

/** Neither names nor labels contain a space. */
function groupKey(namespace: string | undefined, [key, value]: Label): string {
  return `${namespace ?? ''} ${key} ${value}`
}

function labelsOf({ metadata }: KubernetesObject): readonly Label[] {
  return Object.entries(metadata.labels ?? {})
}

/** The longest value is the most specific: it is a name rather than a word such as `true`. */
function anchorOf(service: Service): readonly Label[] {
  if (!hasSelector(service)) return []
  const labels = Object.entries(service.spec.selector ?? {})
  return labels.toSorted(([, left], [, right]) => right.length - left.length).slice(0, 1)
}
