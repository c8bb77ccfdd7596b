import type { Command } from '../command.ts'
import { exposureCertificate, exposureCertificateFlags } from '../exposure-certificate.ts'
import { portOf, roleCommand } from './role-flags.ts'

export const exposureCommand: Command = roleCommand(
  {
    name: 'exposure',
    summary: "Run the edge of a Kubernetes cluster's exposed services. There may be several.",
    flags: [
      { name: 'exposure-port', value: 'PORT', fallback: '22443', help: 'exposed services' },
      ...exposureCertificateFlags,
      { name: 'workers', value: 'COUNT', help: 'threads that serve (default: 1; with 8 cores or more 2 to 4)' },
    ],
  },
  async (common, parsed, signal) => {
    const { startExposure } = await import('../../platform/kubernetes/exposure-program.ts')
    const options = {
      ...common,
      exposurePort: portOf(parsed, 'exposure-port'),
      certificate: exposureCertificate(parsed),
      workers: parsed.integer('workers', { min: 1, max: 64 }),
    }
    return startExposure(options, signal)
  },
)
