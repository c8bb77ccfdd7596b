import { SluiceError } from '../../foundation/errors.ts'
import type { ClusterModels } from '../../platform/models/cluster-models.ts'
import type { Model } from '../../resources/model.ts'
import type { Command } from '../command.ts'
import { kubeconfigOf } from '../connection/cluster-connection.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { modelListing } from '../models/model-list.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { StatusLine } from '../output/status-line.ts'
import { awaitModel } from './await-model.ts'
import { deadlineFlag, deadlineMs, onlyModel, untilInterrupted, withModels } from './running-flags.ts'

const flags = [
  ...clusterFlags,
  { name: 'now', help: 'end its Pods at once, with what they answer' },
  deadlineFlag,
  outputFlag,
]

export const sleepCommand: Command = {
  name: 'sleep',
  summary: 'Put a model to sleep before its idle window is over; what it answers now is finished first.',
  example: 'sluice sleep smollm2',
  positional: 'MODEL',
  completes: 'model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const name = onlyModel(parsed)
    const signal = untilInterrupted()
    const waitMs = deadlineMs(parsed)
    const asleep = await withModels(parsed, async (models) => {
      checkSleepable(await models.find(name))
      if (!parsed.isSet('now')) return putToSleepGently(models, name, waitMs, signal)
      const { putToSleepIn } = await import('../../platform/models/put-to-sleep.ts')
      const order = { models: new Set([name]), afterControllers: false }
      await putToSleepIn(kubeconfigOf(findCluster(parsed)), order, AbortSignal.timeout(waitMs))
      return models.find(name)
    })
    if (!asleep) return 130
    const lines = [`${name} is asleep. A request wakes it.`]
    process.stdout.write(await renderObject(asleep, modelListing, form, lines))
    return 0
  },
}

/** The autoscaler would wake it again at once, and the person would wonder. */
function checkSleepable({ metadata: { name }, spec: { minReplicas } }: Model): void {
  if (minReplicas === 0) return
  const reason = `its minReplicas is ${minReplicas}. \`kubectl patch model ${name} -n sluice --type merge -p '{"spec":{"minReplicas":0}}'\` lets it sleep.`
  throw new SluiceError('model_stays_awake', { model: name, reason })
}

/** Asks for no replicas, so that its Pods are drained. Requests that come meanwhile win: they wake it again. */
async function putToSleepGently(
  models: ClusterModels,
  name: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<Model | undefined> {
  await models.scale(name, 0)
  const line = new StatusLine()
  try {
    return await awaitModel(models, {
      name,
      what: `That ${name} sleeps`,
      deadlineMs: waitMs,
      signal,
      say: (sentence) => line.say(`${name}: ${sentence}`),
      judge: ({ spec, status }) => {
        if ((spec.replicas ?? 0) > 0) {
          const reason = 'somebody asks for it. Try again later; `sluice sleep --now` ends what it answers.'
          return new SluiceError('model_stays_awake', { model: name, reason })
        }
        return (status?.replicas ?? 0) === 0 && status?.phase !== 'Draining' ? 'done' : 'wait'
      },
    })
  } finally {
    line.clear()
  }
}
