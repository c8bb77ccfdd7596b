import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import { onlyPositional, parseFlags } from '../flags.ts'
import { checkedModelName, fetchModel } from './fetch-model.ts'

const flags: readonly Flag[] = [
  dataFlag,
  { name: 'name', value: 'NAME', help: "the model's folder under models/ in the claim (default: after its file)" },
  { name: 'sha256', value: 'HEX', help: 'the checksum that the file must have (default: what its server tells)' },
  { name: 'cache-only', help: "only fetch it into this machine's cache" },
]

export const modelPullCommand: Command = {
  name: 'model pull',
  summary: 'Fetch a model into the userdata claim: smollm2, hf:ORG/REPO/FILE.gguf[@REVISION], https://HOST/FILE.gguf.',
  example:
    'sluice model pull smollm2\nsluice model pull hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
  positional: 'MODEL',
  completes: 'known model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const source = onlyPositional(parsed, 'MODEL', 'name exactly one model, such as smollm2.')
    const sha256 = parsed.text('sha256')?.toLowerCase()
    if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256)) {
      throw new SluiceError('invalid_flag', { flag: '--sha256', reason: 'must be 64 hexadecimal digits.' })
    }
    const { readModelAddress } = await import('../../engine/models/model-address.ts')
    const name = checkedModelName(parsed.text('name') ?? readModelAddress(source, { sha256 }).name, '--name')
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const data = parsed.isSet('cache-only') ? undefined : dataDirectoryOf(parsed)
    console.log(await fetchModel({ source, name, data, sha256, signal: stop.signal }))
    return 0
  },
}
