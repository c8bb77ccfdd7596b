import { SluiceError } from '../../foundation/errors.ts'
import type { Model } from '../../resources/model.ts'
import { idleWindowAnnotation } from '../../resources/model-labels.ts'
import type { Command, Flag } from '../command.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { type ParsedFlags, onlyPositional, parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { untilInterrupted, withModels } from '../running/running-flags.ts'
import { bringModel, readSource, usualEngine, usualName, usualSpec } from './bring-model.ts'
import { checkedModelName } from './fetch-model.ts'
import { modelListing } from './model-list.ts'

const flags: readonly Flag[] = [
  { name: 'name', value: 'NAME', help: 'what requests call it (default: after its file)' },
  {
    name: 'engine',
    value: 'NAME',
    fallback: usualEngine,
    help: 'the program that serves it: LlamaCpp, VLLM, or another of the cluster',
  },
  {
    name: 'profile',
    value: 'PROFILE:COUNT',
    fallback: 'default:1',
    help: 'which cards a replica needs, such as nvidia.com/gpu-l40s:2',
  },
  { name: 'min', value: 'COUNT', fallback: '0', help: 'replicas that run even when nobody asks' },
  { name: 'max', value: 'COUNT', fallback: '1', help: 'replicas that run at most' },
  {
    name: 'idle-window',
    value: 'SECONDS',
    help: "without requests for so long, it goes to sleep (default: the gateway's)",
  },
  ...clusterFlags,
  outputFlag,
]

export const modelAddCommand: Command = {
  name: 'model add',
  summary: 'Make a Model of a GGUF file or a folder, of what `sluice model pull` takes, or of pvc://CLAIM/PATH.',
  example:
    'sluice model add ~/models/my-model.gguf\nsluice model add pvc://userdata/llama --name llama --engine VLLM --profile nvidia.com/gpu-l40s:2',
  positional: 'SOURCE',
  completes: 'file',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const source = readSource(onlyPositional(parsed, 'SOURCE', 'name one file, folder or address of a model.'))
    const given = parsed.text('name')
    const name = given === undefined ? await usualName(source) : checkedModelName(given, '--name')
    const spec = specOf(parsed)
    const idleWindow = parsed.number('idle-window', { min: 1, max: 30 * 24 * 3600 })
    const annotations = idleWindow === undefined ? {} : { [idleWindowAnnotation]: String(idleWindow) }
    const place = findCluster(parsed)
    const model = await withModels(parsed, async (models) => {
      if (await models.get(name)) {
        const reason = `there is a model ${name} already. \`sluice model rm ${name}\` removes it; --name gives this one another name.`
        throw new SluiceError('invalid_flag', { flag: '--name', reason })
      }
      const url = await bringModel({ source, name, place, engine: spec.engine, signal: untilInterrupted() })
      return models.create(name, { ...usualSpec(url), ...spec }, annotations)
    })
    const lines = [`${name} is there. \`sluice chat ${name}\` talks to it.`]
    process.stdout.write(await renderObject(model, modelListing, form, lines))
    return 0
  },
}

function specOf(parsed: ParsedFlags): Partial<Model['spec']> & Pick<Model['spec'], 'engine'> {
  const count = (flag: string, min: number) => parsed.integer(flag, { min, max: 1_000_000 })
  return {
    engine: parsed.text('engine') ?? usualEngine,
    resourceProfile: parsed.text('profile') ?? 'default:1',
    minReplicas: count('min', 0) ?? 0,
    maxReplicas: count('max', 1) ?? 1,
  }
}
