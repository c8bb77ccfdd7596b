import type { Clock } from '../../foundation/clock.ts'
import { customResourceDefinition } from '../../resources/custom-resource-definition.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import type { KindRegistry } from '../kind-registry.ts'
import type { KindStore } from '../kind-store.ts'
import { checkStoredVersions, isEstablished } from './check-definition.ts'
import { type Definition, readDefinition } from './definition.ts'
import { kindsOfDefinition } from './definition-kinds.ts'
import { withStatus } from './definition-status.ts'

/** The CustomResourceDefinitions of a cluster, and the kinds that are served because of them. */
export class CustomResources {
  readonly #registry: KindRegistry
  readonly #store: KindStore
  readonly #clock: Clock
  readonly #terminating = new Set<string>()

  /** Serves what the stored definitions say, and `builtIn` kinds that the store has no definition of yet. */
  constructor(options: { registry: KindRegistry; store: KindStore; clock: Clock; builtIn: readonly Kind[] }) {
    this.#registry = options.registry
    this.#store = options.store
    this.#clock = options.clock
    const stored = this.#store.list(customResourceDefinitionKind, undefined).items
    for (const object of stored) this.written(object)
    const defined = new Set(stored.map(({ metadata }) => metadata.name))
    for (const kind of options.builtIn) {
      const name = resourceNameOf(kind)
      if (!defined.has(name)) this.#registry.set(name, kindsOfDefinition(definitionOf(kind)))
    }
  }

  /** A valid definition with the status it will have among the definitions that exist now. */
  settle(object: KubernetesObject): KubernetesObject {
    const whole = withStatus(object, this.#othersInGroup(object), this.#clock.now())
    const stale = checkStoredVersions(whole)
    if (stale.length > 0) throw invalidObject(customResourceDefinitionKind, object.metadata.name, stale)
    return whole
  }

  /** Puts a written definition into effect at once. */
  written(object: KubernetesObject): void {
    const { name, deletionTimestamp } = object.metadata
    if (deletionTimestamp === undefined) this.#terminating.delete(name)
    else this.#terminating.add(name)
    this.#registry.set(name, isEstablished(object) ? kindsOfDefinition(object) : [])
  }

  removed(object: KubernetesObject): void {
    this.#terminating.delete(object.metadata.name)
    this.#registry.set(object.metadata.name, [])
  }

  /** Whether the definition of a kind is being deleted, which begins with its objects. */
  isTerminating(kind: Kind): boolean {
    return this.#terminating.size > 0 && this.#terminating.has(resourceNameOf(kind))
  }

  get terminating(): readonly string[] {
    return [...this.#terminating]
  }

  refuseNew(kind: Kind, { metadata }: KubernetesObject): void {
    if (!this.isTerminating(kind)) return
    const why = 'create not allowed while custom resource definition is terminating'
    const message = `${resourceNameOf(kind)} "${metadata.name}" is forbidden: ${why}`
    throw new StatusError('Forbidden', message, { name: metadata.name, group: kind.group, kind: kind.plural })
  }

  #othersInGroup(object: KubernetesObject): Definition[] {
    const { name, group } = readDefinition(object)
    return this.#store
      .list(customResourceDefinitionKind, undefined)
      .items.map((other) => readDefinition(other))
      .filter((other) => other.group === group && other.name !== name)
  }
}

/** The definition of one of our kinds, as the store would hold it. */
function definitionOf(kind: Kind): KubernetesObject {
  const name = resourceNameOf(kind)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    ...customResourceDefinition(kind),
    metadata: { name },
  }
}
