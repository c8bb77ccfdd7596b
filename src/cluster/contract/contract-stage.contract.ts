import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type ConfigMap, configMapKind } from '../../resources/config-map.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { serviceAccountKind } from '../../resources/service-account.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ClusterClient, WatchEvent } from '../cluster-client.ts'

/** A cluster that serves our kinds and the core ones, in which nothing runs that would change objects. */
export interface ClusterUnderTest {
  readonly client: ClusterClient
  /** A version from which Models can no longer be watched. */
  expiredVersion(): Promise<string>
  stop(): Promise<void>
}

export const goodSpec = { url: 'pvc://userdata/smollm2', engine: 'LlamaCpp' }

/**
 * What each test of the contract gets: a cluster shared by all tests, a namespace of its own, and a signal that ends
 * with the test.
 */
export class ContractStage {
  #cluster: ClusterUnderTest | undefined
  #namespaces = 0
  #finished = new AbortController()

  constructor(start: () => Promise<ClusterUnderTest>) {
    beforeAll(async () => {
      this.#cluster = await start()
    })
    afterAll(() => this.#cluster?.stop())
    beforeEach(async () => {
      this.#finished = new AbortController()
      this.#namespaces += 1
      await this.client.create(namespaceKind, { metadata: { name: this.namespace } })
      // An API server requires it, and without controllers nobody creates it.
      await this.client.create(serviceAccountKind, { metadata: { name: 'default', namespace: this.namespace } })
    })
    afterEach(() => this.finish())
  }

  get cluster(): ClusterUnderTest {
    if (!this.#cluster) throw new Error('the cluster has not started')
    return this.#cluster
  }

  get client(): ClusterClient {
    return this.cluster.client
  }

  get namespace(): string {
    return `contract-${this.#namespaces}`
  }

  get signal(): AbortSignal {
    return this.#finished.signal
  }

  finish(): void {
    this.#finished.abort()
  }

  configMap(name: string, labels: Record<string, string> = {}, value = ''): Promise<ConfigMap> {
    const metadata = { name, namespace: this.namespace, labels }
    return this.client.create(configMapKind, { metadata, data: { value } })
  }

  model(name: string, fields: Record<string, unknown> = { spec: goodSpec }): Promise<Model> {
    return this.client.create(modelKind, { metadata: { name, namespace: this.namespace }, ...fields })
  }
}

export async function refusal(act: Promise<unknown>): Promise<StatusError> {
  const outcome: unknown = await act.then(
    () => 'accepted',
    (error: unknown) => error,
  )
  expect(outcome).toBeInstanceOf(StatusError)
  return outcome as StatusError
}

/**
 * The invalid fields and why. A real API server adds two causes that name no field of the object: that rules over
 * several fields were not checked, and the same error as seen by the scale subresource.
 */
export function faultsOf(error: StatusError): Record<string, string> {
  const causes = error.details.causes ?? []
  const own = causes.filter(({ field = '' }) => field !== '' && field !== '<nil>' && !field.startsWith('.'))
  return Object.fromEntries(own.map(({ field = '', reason = '' }) => [field, reason]))
}

/** The next events that are not bookmarks. */
export async function take(iterator: AsyncIterator<WatchEvent<ConfigMap>>, count: number) {
  const seen: Array<{ type: string; object: ConfigMap }> = []
  while (seen.length < count) {
    const { done, value } = await iterator.next()
    if (done) break
    if (value.type !== 'BOOKMARK') seen.push(value)
  }
  return seen
}
