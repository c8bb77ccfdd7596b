import { SluiceError } from '../../foundation/errors.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  { name: 'claim', value: 'DIR', help: 'where the claim with the model is mounted' },
  { name: 'claim-name', value: 'NAME', help: 'what the claim is called' },
  { name: 'cache', value: 'DIR', help: 'the folder of the node that keeps models' },
  { name: 'size', value: 'QUANTITY', help: 'what that folder may hold, such as 2Ti' },
  { name: 'link', value: 'DIR', help: 'below which the model appears, at its path' },
  { name: 'host', value: 'ADDRESS', fallback: '127.0.0.1', help: 'where GET /ready is answered' },
  { name: 'port', value: 'PORT', fallback: '8901', help: 'its port; 0 picks a free one' },
]

/** Runs beside an engine in the Pods of Models whose engine or profile has a `weightsCache`. */
export const modelCacheCommand: Command = {
  name: 'model cache',
  summary: "Keep a model's files on this node while an engine uses them; Pods of Models run it.",
  example:
    'sluice model cache models/big --claim /claim --claim-name userdata --cache /cache --size 2Ti --link /models',
  positional: 'PATH',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const needed = (name: string) => {
      const value = parsed.text(name)
      if (value === undefined || value === '') throw refused(`--${name}`, 'is missing.')
      return value
    }
    const [path, ...others] = parsed.positionals
    if (path === undefined || others.length > 0) throw refused('PATH', 'name one path in the claim.')
    // Engines may run as anybody.
    process.umask(0o022)
    const size = parseQuantity(needed('size'))
    if (size === undefined || size <= 0) throw refused('--size', 'must be a quantity such as 500Gi.')
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const { runWeights } = await import('../../platform/weights/weights-program.ts')
    const { systemClock } = await import('../../foundation/clock.ts')
    try {
      await runWeights({
        source: { claimFolder: needed('claim'), claimName: needed('claim-name'), path },
        cacheFolder: needed('cache'),
        size,
        linkFolder: needed('link'),
        listen: { host: needed('host'), port: parsed.integer('port', { min: 0, max: 65_535 }) ?? 0 },
        clock: systemClock,
        signal: stop.signal,
        print: (line) => console.log(line),
      })
    } catch (error) {
      if (!stop.signal.aborted) throw error
    }
    return 0
  },
}

function refused(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
