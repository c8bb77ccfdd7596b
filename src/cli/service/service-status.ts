import type { Command } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { serviceFlags, serviceOf } from './service-flags.ts'

export const serviceStatusCommand: Command = {
  name: 'service status',
  summary: 'Say whether the service is installed, and whether it runs. Ends with 3 if it does not.',
  example: 'sluice service status',
  flags: serviceFlags,
  async run(args) {
    const { SystemService } = await import('../../platform/service/system-service.ts')
    const { name, scope } = serviceOf(parseFlags(serviceFlags, args))
    const service = new SystemService(name, scope)
    const { isInstalled, active, enabled } = await service.state()
    if (!isInstalled) console.log(`${service.unit} is not installed (no ${service.path}).`)
    else console.log(`${service.unit} is ${active}, and ${enabled} at boot (${service.path}).`)
    return isInstalled && active === 'active' ? 0 : 3
  },
}
