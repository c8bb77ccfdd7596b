import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { SluiceError } from '../../foundation/errors.ts'

const flags: readonly Flag[] = [
  { name: 'host', value: 'ADDRESS', fallback: '127.0.0.1', help: 'the address to listen on' },
  { name: 'port', value: 'PORT', fallback: '8000', help: 'the port to listen on; 0 picks a free one' },
  { name: 'served-model-name', value: 'NAME', help: 'the model name that requests use (default: the path as given)' },
  { name: 'tensor-parallel-size', value: 'N', help: 'cards the model is split across; must equal the cards given' },
  { name: 'gpu-memory-utilization', value: 'FRACTION', help: 'fraction of card memory used (no effect on CPU)' },
  { name: 'num-scheduler-steps', value: 'N', help: 'scheduler steps (no effect on CPU)' },
  {
    name: 'max-model-len',
    value: 'TOKENS',
    help: 'longest context (default: what the model was trained for, at most 4096)',
  },
  {
    name: 'max-num-seqs',
    value: 'N',
    help: 'requests computed together (default: 8, fewer where their contexts would fill a quarter of the free memory)',
  },
  { name: 'trust-remote-code', help: 'accepted for compatibility; a GGUF file carries no code' },
  {
    name: 'api-key',
    value: 'KEY',
    help: 'the key requests must carry (default: VLLM_API_KEY or LLAMA_API_KEY of the environment, else none is asked for)',
  },
  {
    name: 'threads',
    value: 'N',
    help: 'CPU threads (default: cores - 1; all for several tokens at once while nobody else uses them)',
  },
]

const drainMs = 20_000

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve one model with llama.cpp behind the OpenAI interface.',
  example: 'sluice serve ~/models/SmolLM2.gguf --port 8000',
  positional: 'MODEL_DIR',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [modelPath, ...extra] = parsed.positionals
    if (modelPath === undefined || extra.length > 0) {
      throw new SluiceError('invalid_flag', { flag: 'MODEL_DIR', reason: 'name exactly one folder or .gguf file.' })
    }
    const [{ startEngine }, { engineCacheFolder }, { createLogger }] = await Promise.all([
      import('../../engine/serve.ts'),
      import('../../engine/cache-folder.ts'),
      import('../../foundation/log.ts'),
    ])
    // The message of a failed start goes to standard error, too: with two pipes, the order of lines would be lost.
    const log = createLogger({ destination: process.stderr })
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const whole = { min: 1, max: 1_000_000_000 }
    const engine = await startEngine(
      {
        modelPath,
        host: parsed.text('host') ?? '127.0.0.1',
        port: parsed.integer('port', { min: 0, max: 65_535 }) ?? 8000,
        servedModelName: parsed.text('served-model-name'),
        tensorParallelSize: parsed.integer('tensor-parallel-size', whole),
        gpuMemoryUtilization: parsed.number('gpu-memory-utilization', { min: 0, max: 1 }),
        numSchedulerSteps: parsed.integer('num-scheduler-steps', whole),
        maxModelLen: parsed.integer('max-model-len', whole),
        maxNumSeqs: parsed.integer('max-num-seqs', { min: 1, max: 256 }),
        trustRemoteCode: parsed.isSet('trust-remote-code'),
        apiKey: parsed.text('api-key'),
        threads: parsed.integer('threads', { min: 1, max: 1024 }),
      },
      { log, signal: stop.signal, openings: engineCacheFolder(process.env, 'SLUICE_OPENINGS', 'openings') },
    )
    try {
      // If the model cannot be loaded, the program ends, and whoever started it sees the reason.
      await engine.ready
      await aborted(stop.signal)
    } catch (error) {
      if (!stop.signal.aborted) throw error
    } finally {
      await engine.stop(drainMs)
    }
    return 0
  },
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
