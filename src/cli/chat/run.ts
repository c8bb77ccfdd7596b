import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { gatewayAddressFlags } from '../connection/gateway-address.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { bringModel, readSource, usualEngine, usualName, usualSpec } from '../models/bring-model.ts'
import { checkedModelName, isModelName } from '../models/fetch-model.ts'
import { deadlineFlag, deadlineMs, untilInterrupted, withModels } from '../running/running-flags.ts'
import { wake } from '../running/wake.ts'
import { chatWith } from './chat.ts'

const flags: readonly Flag[] = [
  { name: 'name', value: 'NAME', help: 'what requests call it (default: after its file)' },
  ...clusterFlags,
  ...gatewayAddressFlags,
  deadlineFlag,
]

export const runModelCommand: Command = {
  name: 'run',
  summary: 'Fetch a model, make it a Model here, wake it, and talk to it: all that is still to be done of it.',
  example:
    'sluice run smollm2\nsluice run hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf\nsluice run ~/models/my-model.gguf',
  positional: 'MODEL|SOURCE [PROMPT...]',
  completes: 'known model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [text, ...prompt] = parsed.positionals
    if (text === undefined) {
      const reason = 'name a model: one of `sluice model list`, smollm2, hf:ORG/REPO/FILE.gguf, or a file.'
      throw new SluiceError('invalid_flag', { flag: 'SOURCE', reason })
    }
    const signal = untilInterrupted()
    const name = await prepared(parsed, text, signal)
    if (name === undefined) return 130
    return chatWith(parsed, name, prompt.join(' '))
  },
}

/** Makes sure that the model is there and awake. Returns its name; undefined when it was interrupted. */
async function prepared(parsed: ParsedFlags, text: string, signal: AbortSignal): Promise<string | undefined> {
  const place = findCluster(parsed)
  return withModels(parsed, async (models) => {
    const mayBeName = parsed.text('name') === undefined && isModelName(text)
    const known = mayBeName ? await models.get(text) : undefined
    const name = known ? text : await nameFor(parsed, text)
    if (!known && !(await models.get(name))) {
      const url = await bringModel({ source: readSource(text), name, place, engine: usualEngine, signal })
      await models.create(name, usualSpec(url))
      console.error(`${name} is there.`)
    }
    const awake = await wake(models, name, { deadlineMs: deadlineMs(parsed), signal })
    return awake && name
  })
}

async function nameFor(parsed: ParsedFlags, text: string): Promise<string> {
  const given = parsed.text('name')
  return given === undefined ? usualName(readSource(text)) : checkedModelName(given, '--name')
}
