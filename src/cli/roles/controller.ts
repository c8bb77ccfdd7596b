import type { Command } from '../command.ts'
import { millisecondsOf, roleCommand } from './role-flags.ts'

export const controllerCommand: Command = roleCommand(
  {
    name: 'controller',
    summary: 'Run the operator and the autoscaler of a Kubernetes cluster. Of several, one leads.',
    flags: [
      {
        name: 'registry',
        value: 'HOST',
        fallback: 'registry.local-1.localhost',
        help: "where the engines' images come from",
      },
      { name: 'config', value: 'FILE', help: 'resource profiles (YAML or JSON)' },
      {
        name: 'idle-window',
        value: 'SECONDS',
        fallback: '600',
        help: 'without requests for so long, a model goes to sleep',
      },
      { name: 'no-card-preemption', help: 'do not give cards of idle models to those that somebody waits for' },
    ],
  },
  async (common, parsed, signal) => {
    const { startController } = await import('../../platform/kubernetes/controller-program.ts')
    const options = {
      ...common,
      registry: parsed.text('registry') ?? '',
      config: parsed.text('config'),
      idleWindowMs: millisecondsOf(parsed, 'idle-window', 600),
      cardPreemption: !parsed.isSet('no-card-preemption'),
    }
    return startController(options, signal)
  },
)
