import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { type ServiceAccount, serviceAccountKind } from '../../resources/service-account.ts'
import { isStatusError } from '../../resources/status-error.ts'

export interface DefaultServiceAccountsOptions {
  readonly client: ClusterClient
  readonly namespaces: ObjectCache<Namespace>
  readonly accounts: ObjectCache<ServiceAccount>
  readonly clock: Clock
  readonly log: Logger
}

const accountName = 'default'

/** Gives every namespace the service account `default`, which its Pods use unless they name another. */
export class DefaultServiceAccounts {
  readonly #options: DefaultServiceAccountsOptions
  readonly #queue: WorkQueue

  constructor(options: DefaultServiceAccountsOptions) {
    this.#options = options
    const { clock, log, namespaces, accounts } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'service-accounts', clock, log, concurrency: 2, reconcile })
    namespaces.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#queue.add(refOf(object))
    })
    accounts.onChange(({ type, object }) => {
      const { name, namespace } = object.metadata
      if (type === 'deleted' && name === accountName && namespace !== undefined) this.#queue.add({ name: namespace })
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile({ name }: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, namespaces, accounts } = this.#options
    const namespace = namespaces.get({ name })
    if (!namespace || namespace.metadata.deletionTimestamp !== undefined) return
    if (accounts.get({ namespace: name, name: accountName })) return
    try {
      await client.create(serviceAccountKind, { metadata: { name: accountName, namespace: name } }, signal)
    } catch (error) {
      // It exists already, or the namespace is being deleted.
      if (!isStatusError(error, 'AlreadyExists', 'NotFound') && !isEnding(error)) throw error
    }
  }
}

/** Refused because the namespace is being terminated, so there is no point in trying again. */
export function isEnding(error: unknown): boolean {
  return isStatusError(error, 'Forbidden') && error.details.causes?.[0]?.reason === 'NamespaceTerminating'
}
