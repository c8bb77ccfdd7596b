import { SluiceError } from '../../foundation/errors.ts'
import type { ClusterModels } from '../../platform/models/cluster-models.ts'
import type { Model } from '../../resources/model.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { StatusLine } from '../output/status-line.ts'
import { modelListing } from '../models/model-list.ts'
import { awaitModel } from './await-model.ts'
import { deadlineFlag, deadlineMs, onlyModel, untilInterrupted, withModels } from './running-flags.ts'

const flags = [...clusterFlags, { name: 'no-wait', help: 'only ask for it, and return' }, deadlineFlag, outputFlag]

export const wakeCommand: Command = {
  name: 'wake',
  summary: 'Wake a model before anybody asks for it, and wait until it can answer. It sleeps again when it is idle.',
  example: 'sluice wake smollm2',
  positional: 'MODEL',
  completes: 'model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const name = onlyModel(parsed)
    const isPatient = !parsed.isSet('no-wait')
    const model = await withModels(parsed, (models) =>
      wake(models, name, { deadlineMs: isPatient ? deadlineMs(parsed) : undefined, signal: untilInterrupted() }),
    )
    if (!model) return 130
    process.stdout.write(
      await renderObject(model, modelListing, form, [isPatient ? `${name} is awake.` : `${name} is asked to wake.`]),
    )
    return 0
  },
}

export interface WakeOptions {
  /** Undefined for not waiting. */
  readonly deadlineMs: number | undefined
  readonly signal: AbortSignal
}

/** Asks for a replica where there is none. The autoscaler keeps it for an idle window from then on. */
export async function wake(models: ClusterModels, name: string, options: WakeOptions): Promise<Model | undefined> {
  const model = await models.find(name)
  if (model.status?.phase === 'Ready') return model
  if ((model.spec.replicas ?? 0) === 0) await models.scale(name, Math.max(1, model.spec.minReplicas))
  if (options.deadlineMs === undefined) return models.find(name)
  const line = new StatusLine()
  try {
    return await awaitModel(models, {
      name,
      what: `That ${name} wakes`,
      deadlineMs: options.deadlineMs,
      signal: options.signal,
      say: (sentence) => line.say(`${name}: ${sentence}`),
      judge: ({ status, metadata }) => {
        if (status?.phase === 'Ready') return 'done'
        const isNews =
          status?.observedGeneration === undefined || status.observedGeneration >= (metadata.generation ?? 0)
        if (status?.phase !== 'Failed' || !isNews) return 'wait'
        return new SluiceError('model_unavailable', { model: name, reason: status.message ?? 'nobody says why.' })
      },
    })
  } finally {
    line.clear()
  }
}
