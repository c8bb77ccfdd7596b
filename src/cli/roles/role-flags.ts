import type { RoleOptions, RunningRole } from '../../platform/kubernetes/role-program.ts'
import type { Command, Flag } from '../command.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { stopSignal } from './stop-signal.ts'

/** What every role takes. */
const commonFlags: readonly Flag[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'the cluster to work for (default: the one this runs in, else the one kubectl would use)',
  },
  { name: 'host', value: 'ADDRESS', fallback: '0.0.0.0', help: 'the address to listen on' },
  {
    name: 'watch-silence',
    value: 'SECONDS',
    fallback: '150',
    help: 'a watch that brings nothing for so long is begun anew; API servers send something every minute',
  },
  { name: 'health-port', value: 'PORT', fallback: '8081', help: '/healthz, /readyz and /metrics; 0 picks a free port' },
]

/** A command that runs a role until it is told to stop. */
export function roleCommand(
  about: Pick<Command, 'name' | 'summary' | 'example' | 'flags'>,
  start: (common: RoleOptions, parsed: ParsedFlags, signal: AbortSignal) => Promise<RunningRole>,
): Command {
  const flags = [...commonFlags, ...about.flags]
  return {
    ...about,
    flags,
    async run(args) {
      const parsed = parseFlags(flags, args)
      const stop = stopSignal()
      const common = {
        kubeconfig: parsed.text('kubeconfig'),
        host: parsed.text('host') ?? '0.0.0.0',
        healthPort: portOf(parsed, 'health-port'),
        watchSilenceMs: millisecondsOf(parsed, 'watch-silence', 150),
      }
      const running = await start(common, parsed, stop)
      await running.ended
      return 0
    },
  }
}

export function portOf(parsed: ParsedFlags, name: string): number {
  return parsed.integer(name, { min: 0, max: 65_535 }) ?? 0
}

/** A time of at least a second and at most a month. */
export function millisecondsOf(parsed: ParsedFlags, name: string, fallbackSeconds: number): number {
  return (parsed.number(name, { min: 1, max: 30 * 24 * 3600 }) ?? fallbackSeconds) * 1000
}
