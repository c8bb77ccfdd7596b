import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import type { MirrorNews } from './mirror-feed.ts'

/** A copy of the cache, kept in another thread by what `MirrorFeed` tells. */
export class ObjectMirror<T extends KubernetesObject> extends HeldObjects<T> {
  hear({ synced, put, gone }: MirrorNews<T>): void {
    for (const object of put) this.put(object)
    for (const ref of gone) this.remove(ref)
    this.synced = synced
  }
}
