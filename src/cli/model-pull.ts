import { SluiceError } from '../foundation/errors.ts'
import type { Command, Flag } from './command.ts'
import { parseFlags } from './flags.ts'
import { ProgressBar } from './progress-bar.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster that gets the model' },
  { name: 'cache-only', help: "only fetch it into this machine's cache" },
]

export const modelPullCommand: Command = {
  name: 'model pull',
  summary: 'Fetch a model into the userdata claim (smollm2).',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [name, ...extra] = parsed.positionals
    if (name === undefined || extra.length > 0) {
      throw new SluiceError('invalid_flag', { flag: 'NAME', reason: 'name exactly one model, such as smollm2.' })
    }
    const [{ pullModel }, { modelCacheDirectory, modelDirectory }, { createLogger }] = await Promise.all([
      import('../engine/model-pull.ts'),
      import('../platform/model-storage.ts'),
      import('../foundation/log.ts'),
    ])
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const bar = new ProgressBar(process.stderr, name)
    try {
      const path = await pullModel({
        name,
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
