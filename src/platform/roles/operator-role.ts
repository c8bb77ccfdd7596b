import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../../cluster/event-recorder.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { ModelController, type ModelControllerOptions } from '../../operator/model-controller.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { controllingModel } from '../../resources/model-ownership.ts'
import { backgroundTask } from '../background-task.ts'
import type { HomeCaches } from '../cluster-caches.ts'
import type { ClusterCards } from '../models/cluster-cards.ts'
import { askHealth } from '../models/ask-health.ts'
import { ClusterGroupRoom } from '../models/cluster-group-room.ts'
import { version } from '../version.ts'

export interface OperatorRoleOptions extends Pick<
  ModelControllerOptions,
  'files' | 'registry' | 'engines' | 'imageUnavailable' | 'readLogTail' | 'isRemote'
> {
  readonly client: ClusterClient
  readonly caches: Pick<HomeCaches, 'models' | 'pods' | 'nodes' | 'secrets'>
  readonly cards: ClusterCards
  /** Requests in flight at a Pod of a Model; undefined when nobody knows. */
  readonly busy: (model: string, podName: string) => number | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface OperatorRole extends Component {
  readonly foresee: ModelController['foresee']
  readonly whenLooked: ModelController['whenLooked']
}

/** The operator of a cluster's Models: Pods, keys and status of each. One runs at a time per cluster. */
export function operatorRole(options: OperatorRoleOptions): OperatorRole {
  const { client, caches, cards, busy, clock, log, ...facts } = options
  const { models, pods, nodes, secrets } = caches
  const controller = new ModelController({
    ...facts,
    client,
    models,
    pods,
    secrets,
    events: new EventRecorder({ client, component: 'sluice-operator', clock, log, settleMs: eventSettleMs }),
    groupRoom: new ClusterGroupRoom({ pods, nodes, clock }),
    askHealth,
    clock,
    log,
    version,
    wakingStatusMs: 100,
    podNewsMs: 20,
    profiles: () => cards.facts(),
    onProfilesChange: (callback) => cards.onChange(callback),
    busy: (podName) => {
      const pod = pods.get({ namespace: gatewayNamespace, name: podName })
      const model = pod && controllingModel(pod)
      return model === undefined ? 0 : busy(model.name, podName)
    },
  })
  const task = backgroundTask('operator', (signal) => controller.run(signal))
  return {
    ...task,
    foresee: (coming) => controller.foresee(coming),
    whenLooked: (model) => controller.whenLooked(model),
  }
}
