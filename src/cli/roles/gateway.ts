import type { Command } from '../command.ts'
import { gatewayFlags, gatewaySettings } from '../gateway-flags.ts'
import { millisecondsOf, portOf, roleCommand } from './role-flags.ts'

export const gatewayCommand: Command = roleCommand(
  {
    name: 'gateway',
    summary: 'Run the OpenAI gateway of a Kubernetes cluster. There may be several.',
    example: 'sluice gateway --gateway-port 8000',
    flags: [
      { name: 'gateway-port', value: 'PORT', fallback: '8000', help: 'the OpenAI API and the chat page' },
      { name: 'demand-port', value: 'PORT', fallback: '8082', help: 'where the controller listens to demand' },
      ...gatewayFlags,
      {
        name: 'stop-grace',
        value: 'SECONDS',
        fallback: '10',
        help: 'how long requests, also those that wait for a model, may take to end at a stop',
      },
      { name: 'gateway-workers', value: 'COUNT', help: 'threads that serve (default: 1; with 8 cores or more 2 to 4)' },
    ],
  },
  async (common, parsed, signal) => {
    const { startGateway } = await import('../../platform/kubernetes/gateway-program.ts')
    const options = {
      ...common,
      gatewayPort: portOf(parsed, 'gateway-port'),
      demandPort: portOf(parsed, 'demand-port'),
      ...gatewaySettings(parsed),
      stopGraceMs: millisecondsOf(parsed, 'stop-grace', 10),
      gatewayWorkers: parsed.integer('gateway-workers', { min: 1, max: 64 }),
    }
    return startGateway(options, signal)
  },
)
