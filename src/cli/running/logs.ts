import { SluiceError } from '../../foundation/errors.ts'
import type { ClusterModels } from '../../platform/models/cluster-models.ts'
import { enginePortName } from '../../resources/model-labels.ts'
import type { Pod } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { Command, Flag } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags, onlyPositional } from '../flags.ts'
import { LinePrefixer } from './line-prefixer.ts'
import { untilInterrupted, withModels } from './running-flags.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'follow', short: 'f', help: 'show what is written from now on, too, until it ends or Ctrl-C' },
  { name: 'previous', short: 'p', help: 'of the container before its last restart' },
  { name: 'tail', value: 'N', help: 'only the last N lines (default: all)' },
  { name: 'container', short: 'c', value: 'NAME', help: "which container (default: the model's engine)" },
]

/** Of more, nobody reads the lines; the connections would only cost. */
const mostPods = 20

export const logsCommand: Command = {
  name: 'logs',
  summary: 'Show what the program of a model says, or that of one of its Pods.',
  example: 'sluice logs smollm2 --tail 20\nsluice logs smollm2 -f',
  positional: 'MODEL|POD',
  completes: 'model or pod',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyPositional(parsed, 'MODEL', 'name exactly one model or Pod; `sluice ps -o wide` shows both.')
    const tail = parsed.integer('tail', { min: 0, max: 1_000_000 })
    const signal = untilInterrupted()
    return withModels(parsed, async (models) => {
      const pods = await podsOf(models, name)
      const isSeveral = pods.length > 1
      await Promise.all(
        pods.map(async (pod) => {
          const out = new LinePrefixer(isSeveral ? `[${pod.metadata.name}] ` : '', (text) => process.stdout.write(text))
          const question = {
            pod: pod.metadata.name,
            container: parsed.text('container') ?? engineOf(pod),
            follow: parsed.isSet('follow'),
            previous: parsed.isSet('previous'),
            tail,
          }
          try {
            for await (const part of models.log(question, signal)) out.write(part)
          } catch (error) {
            if (!(error instanceof StatusError)) throw error
            throw new SluiceError('log_missing', { name: pod.metadata.name, reason: error.message }, { cause: error })
          }
          out.end()
        }),
      )
      return signal.aborted ? 130 : 0
    })
  },
}

/** The Pods of a model of this name, else the Pod of this name. */
async function podsOf(models: ClusterModels, name: string): Promise<readonly Pod[]> {
  const model = await models.get(name)
  const pods = model ? await models.pods(model) : []
  if (pods.length > mostPods) {
    const reason = `it has ${pods.length} Pods; name one of them, which \`sluice ps -o wide\` shows.`
    throw new SluiceError('log_missing', { name, reason })
  }
  if (pods.length > 0) return pods
  const pod = await models.pod(name)
  if (pod) return [pod]
  const reason = model
    ? `it has no Pod now. \`sluice wake ${name}\` starts one.`
    : 'there is neither a model nor a Pod of that name. `sluice model list` shows the models.'
  throw new SluiceError('log_missing', { name, reason })
}

/** The container that serves; others beside it fetch files or keep them. */
function engineOf({ spec }: Pod): string | undefined {
  const serving = spec.containers.find(({ ports }) => ports?.some(({ name }) => name === enginePortName))
  return (serving ?? spec.containers[0])?.name
}
