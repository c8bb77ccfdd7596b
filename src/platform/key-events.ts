import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { ApiKey } from '../resources/api-key.ts'
import type { ObjectCache, ObjectChange } from '../resources/object-cache.ts'

export interface KeyEventsOptions {
  readonly client: ClusterClient
  readonly keys: ObjectCache<ApiKey>
  readonly clock: Clock
  readonly log: Logger
}

export interface KeyNews {
  readonly type: 'Normal' | 'Warning'
  readonly reason: 'KeyCreated' | 'KeyDisabled' | 'KeyEnabled' | 'KeyChanged' | 'KeyRevoked'
  readonly message: string
}

/**
 * Records Kubernetes Events about changes of API keys. Starts once the cache is filled, since keys that exist are no
 * news.
 */
export class KeyEvents implements Component {
  readonly name = 'events of keys'
  readonly #options: KeyEventsOptions
  readonly #recorder: EventRecorder
  #stopListening: () => void = () => {}

  constructor(options: KeyEventsOptions) {
    this.#options = options
    const { client, clock, log } = options
    this.#recorder = new EventRecorder({ client, component: 'sluice-keys', clock, log })
  }

  start(): void {
    this.#stopListening = this.#options.keys.onChange((change) => {
      const news = keyNews(change)
      if (news) this.#recorder.record(change.object, news.type, news.reason, news.message)
    })
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#recorder.idle()
  }
}

/** `undefined` if the change does not matter to users of the key. */
export function keyNews({ type, object, previous }: ObjectChange<ApiKey>): KeyNews | undefined {
  const { spec } = object
  const key = `The ${spec.use.toLowerCase()} key of ${spec.enterprise}`
  if (type === 'added') return normal('KeyCreated', `${key} was created, ${grantOf(spec)}`)
  if (type === 'deleted') return normal('KeyRevoked', `${key} was deleted and is refused from now on`)
  if (!previous || sameKey(spec, previous.spec)) return undefined
  if (spec.disabled && !previous.spec.disabled) {
    return { type: 'Warning', reason: 'KeyDisabled', message: `${key} was disabled and is refused from now on` }
  }
  if (!spec.disabled && previous.spec.disabled) return normal('KeyEnabled', `${key} was enabled, ${grantOf(spec)}`)
  return normal('KeyChanged', `${key} was changed, and is now ${grantOf(spec)}`)
}

function normal(reason: KeyNews['reason'], message: string): KeyNews {
  return { type: 'Normal', reason, message }
}

function sameKey(one: ApiKey['spec'], other: ApiKey['spec']): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function grantOf({ use, allowedModels, expiresAt }: ApiKey['spec']): string {
  const until = expiresAt === undefined ? 'without an end' : `until ${expiresAt}`
  if (use === 'Management') return `good for the management API ${until}`
  return `good for ${allowedModels ? `the models ${allowedModels.join(', ')}` : 'all models'} ${until}`
}
