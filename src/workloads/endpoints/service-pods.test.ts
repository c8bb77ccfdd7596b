import { expect, it } from 'vitest'
import type { ObjectChange } from '../../cluster/informer.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { ServicePods } from './service-pods.ts'
import { pod } from '../workload-objects.fixture.ts'

/** A cache whose changes a test makes up. */
class Changes<T> {
  readonly synced = true
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()

  get(): undefined {}

  list(): readonly T[] {
    return []
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}

const service = (name: string, selector?: Record<string, string>, namespace = 'default'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { type: 'ClusterIP', ...(selector && { selector }) },
})
const names = (objects: readonly { readonly metadata: { readonly name: string } }[]) =>
  objects.map(({ metadata }) => metadata.name).sort()

it('Services and Pods find each other by all labels, as these come and go', () => {
  const [pods, services] = [new Changes<Pod>(), new Changes<Service>()]
  const index = new ServicePods(pods, services)
  const web = service('web', { app: 'web', tier: 'a' })
  for (const object of [web, service('all', { app: 'web' }), service('none'), service('far', { app: 'web' }, 'far')]) {
    services.tell({ type: 'added', object })
  }
  const first = pod('first', { labels: { app: 'web', tier: 'a' } })
  const second = pod('second', { labels: { app: 'web', tier: 'b' } })
  for (const object of [first, second, pod('other', { labels: { app: 'db' } }), pod('bare')]) {
    pods.tell({ type: 'added', object })
  }
  expect(names(index.podsOf(web))).toEqual(['first'])
  expect(names(index.podsOf(service('all', { app: 'web' })))).toEqual(['first', 'second'])
  expect(index.podsOf(service('none'))).toEqual([])
  expect(names(index.servicesOf(first))).toEqual(['all', 'web'])
  expect(names(index.servicesOf(second))).toEqual(['all'])
  expect(index.servicesOf(pod('bare'))).toEqual([])

  const moved = pod('first', { labels: { app: 'db' } })
  pods.tell({ type: 'updated', object: moved, previous: first })
  const wider = service('web', { tier: 'b' })
  services.tell({ type: 'updated', object: wider, previous: web })
  services.tell({ type: 'deleted', object: service('all', { app: 'web' }), previous: service('all', { app: 'web' }) })
  expect(names(index.podsOf(wider))).toEqual(['second'])
  expect(names(index.servicesOf(second))).toEqual(['web'])
  expect(index.servicesOf(moved)).toEqual([])
})
