import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { EventRecorder } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { engineKeyId, engineKeyIn, engineKeysName } from '../../resources/engine-keys.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { modelOfPod } from '../../resources/model-ownership.ts'
import type { Model } from '../../resources/model.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import type { Secret } from '../../resources/secret.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { builtInEngines } from '../engines/built-in-engines.ts'
import { type Engine, type EngineTable, resolveEngine } from '../engines/engine.ts'
import { type ProgressLine, progressLine } from '../engines/progress-line.ts'
import type { AskHealth } from './health-answers.ts'
import { loadingText } from './shown-loading.ts'
import { stalledAnnotation } from './start-progress.ts'
import { type ReadLogTail, StartWatch } from './start-watch.ts'

export interface ModelStartsOptions {
  readonly client: ClusterClient
  readonly models: ObjectCache<Model>
  readonly pods: ObjectCache<Pod>
  readonly secrets: ObjectCache<Secret>
  readonly events: Pick<EventRecorder, 'record'>
  readonly engines?: EngineTable
  readonly readLogTail: ReadLogTail
  readonly askHealth?: AskHealth | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Watches how the Pods of Models start. One that shows no progress for as long as its engine allows is ended. */
export function modelStarts(options: ModelStartsOptions, onNews: (pod: Pod) => void): StartWatch {
  const {
    client,
    models,
    pods,
    secrets,
    events,
    engines = builtInEngines,
    readLogTail,
    askHealth,
    clock,
    log,
  } = options
  const engineOf = (pod: Pod): Engine | undefined => {
    const model = modelOfPod(pod, models)
    return model && resolveEngine(model.spec.engine, engines)
  }
  const progressLines = new Map(Object.values(engines).map((engine) => [engine, progressLinesOf(engine)]))
  return new StartWatch({
    pods,
    readLogTail,
    askHealth,
    clock,
    log,
    onNews,
    stalledMs: (pod) => 1000 * (engineOf(pod)?.stalledSeconds ?? 0),
    quietMs: (pod) => 1000 * (engineOf(pod)?.quietSeconds ?? 0),
    percentIn: (pod, line) => {
      const engine = engineOf(pod)
      const lines = (engine && progressLines.get(engine)) ?? []
      return lines.map((percentIn) => percentIn(line)).find((percent) => percent !== undefined)
    },
    // Some programs write the arguments that they were started with, and their key may be one of them.
    redact: (pod, line) => {
      const id = engineKeyId(pod)
      const model = modelOfPod(pod, models)
      const { namespace } = pod.metadata
      const secret = model && secrets.get({ namespace, name: engineKeysName(model.metadata.name) })
      const key = id === undefined ? undefined : engineKeyIn(secret, id)
      return key === undefined ? line : line.replaceAll(key, '…')
    },
    onStall: (pod, isStalled, { loading }) => {
      const model = modelOfPod(pod, models)
      if (!model || !loading) return
      const where = `Pod ${pod.metadata.name}: ${loadingText({ ...loading, stalled: false })}`
      if (isStalled) events.record(model, 'Warning', 'LoadingStalled', `${where}, since ${loading.movedAt}`)
      else events.record(model, 'Normal', 'LoadingResumed', where)
    },
    giveUp: async (pod, why, signal) => {
      if (pod.metadata.annotations?.[stalledAnnotation] !== undefined) return
      const metadata = { uid: pod.metadata.uid, annotations: { [stalledAnnotation]: why } }
      try {
        // Its node ends it as failed, so that it gives its cards back and is replaced more slowly each time.
        await client.patch(podKind, refOf(pod), { metadata, spec: { activeDeadlineSeconds: 1 } }, signal)
      } catch (error) {
        // It is gone, and its name may be another's: some servers call another uid a conflict, others invalid.
        if (isStatusError(error, 'NotFound', 'Conflict', 'Invalid')) return
        throw error
      }
      const model = modelOfPod(pod, models)
      if (model) events.record(model, 'Warning', 'Stalled', `Pod ${pod.metadata.name} is given up: ${why}`)
    },
  })
}

function progressLinesOf({ progressLines = [] }: Engine): readonly ProgressLine[] {
  return progressLines.map(progressLine)
}
