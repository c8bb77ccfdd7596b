import type { Command } from '../command.ts'
import { millisecondsOf, portOf, roleCommand } from './role-flags.ts'

export const gatewayCommand: Command = roleCommand(
  {
    name: 'gateway',
    summary: 'Run the OpenAI gateway of a Kubernetes cluster. There may be several.',
    flags: [
      { name: 'gateway-port', value: 'PORT', fallback: '8000', help: 'the OpenAI API and the chat page' },
      { name: 'demand-port', value: 'PORT', fallback: '8082', help: 'where the controller listens to demand' },
      { name: 'wake-deadline', value: 'SECONDS', fallback: '600', help: 'how long a request waits for its model' },
      { name: 'require-api-keys', help: 'refuse inference requests without a key of `sluice key create`' },
      {
        name: 'trusted-proxies',
        value: 'CIDR,...',
        fallback: '127.0.0.1,::1',
        help: 'whose x-forwarded-* headers the gateway believes',
      },
      {
        name: 'body-limit',
        value: 'MIB',
        fallback: '32',
        help: 'what the gateway holds of a request body at most; files of forms stream',
      },
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
      wakeDeadlineMs: millisecondsOf(parsed, 'wake-deadline', 600),
      requireApiKeys: parsed.isSet('require-api-keys'),
      trustedProxies: parsed.text('trusted-proxies') ?? '',
      bodyLimitBytes: (parsed.integer('body-limit', { min: 1, max: 1_024 }) ?? 32) * 1024 * 1024,
      stopGraceMs: millisecondsOf(parsed, 'stop-grace', 10),
      gatewayWorkers: parsed.integer('gateway-workers', { min: 1, max: 64 }),
    }
    return startGateway(options, signal)
  },
)
