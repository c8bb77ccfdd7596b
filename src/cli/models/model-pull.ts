import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { ProgressBar } from './progress-bar.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster that gets the model' },
  { name: 'name', value: 'NAME', help: "the model's folder under models/ in the claim (default: after its file)" },
  { name: 'sha256', value: 'HEX', help: 'the checksum that the file must have (default: what its server tells)' },
  { name: 'cache-only', help: "only fetch it into this machine's cache" },
]

export const modelPullCommand: Command = {
  name: 'model pull',
  summary: 'Fetch a model into the userdata claim: smollm2, hf:ORG/REPO/FILE.gguf[@REVISION], https://HOST/FILE.gguf.',
  positional: 'MODEL',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [model, ...extra] = parsed.positionals
    if (model === undefined || extra.length > 0) {
      throw new SluiceError('invalid_flag', { flag: 'MODEL', reason: 'name exactly one model, such as smollm2.' })
    }
    const sha256 = parsed.text('sha256')?.toLowerCase()
    if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256)) {
      throw new SluiceError('invalid_flag', { flag: '--sha256', reason: 'must be 64 hexadecimal digits.' })
    }
    const [{ pullModel }, { readModelAddress }, { modelCacheDirectory, modelDirectory }, { createLogger }] =
      await Promise.all([
        import('../../engine/models/model-pull.ts'),
        import('../../engine/models/model-address.ts'),
        import('../../platform/models/model-storage.ts'),
        import('../../foundation/log.ts'),
      ])
    const name = parsed.text('name') ?? readModelAddress(model, { sha256 }).name
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
      throw new SluiceError('invalid_flag', { flag: '--name', reason: 'must be lower-case letters, digits, . and -.' })
    }
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const bar = new ProgressBar(process.stderr, name)
    try {
      const path = await pullModel({
        name: model,
        sha256,
        huggingFace: process.env['HF_ENDPOINT'] || undefined,
        into: parsed.isSet('cache-only') ? undefined : modelDirectory(parsed.text('data') ?? '.sluice', name),
        cacheDirectory: modelCacheDirectory(),
        onProgress: (progress) => bar.show(progress.bytes, progress.totalBytes),
        signal: stop.signal,
        log: createLogger({ level: 'warn' }),
      })
      bar.finish()
      console.log(path)
      return 0
    } finally {
      bar.finish()
    }
  },
}
