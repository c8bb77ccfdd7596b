import type { Command } from '../command.ts'
import { exposureCertificate, exposureCertificateFlags } from '../exposure-certificate.ts'
import { millisecondsOf, portOf, roleCommand } from './role-flags.ts'

export const exposureCommand: Command = roleCommand(
  {
    name: 'exposure',
    summary: "Run the edge of a Kubernetes cluster's exposed services. There may be several.",
    example: 'sluice exposure --kubeconfig ~/.kube/config',
    flags: [
      { name: 'exposure-port', value: 'PORT', fallback: '22443', help: 'exposed services' },
      ...exposureCertificateFlags,
      { name: 'stop-grace', value: 'SECONDS', fallback: '10', help: 'how long requests may take to end at a stop' },
      { name: 'workers', value: 'COUNT', help: 'threads that serve (default: 1; with 8 cores or more 2 to 4)' },
    ],
  },
  async (common, parsed, signal) => {
    const { startExposure } = await import('../../platform/kubernetes/exposure-program.ts')
    const options = {
      ...common,
      exposurePort: portOf(parsed, 'exposure-port'),
      certificate: exposureCertificate(parsed),
      stopGraceMs: millisecondsOf(parsed, 'stop-grace', 10),
      workers: parsed.integer('workers', { min: 1, max: 64 }),
    }
    return startExposure(options, signal)
  },
)
