import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { dryRunFlag, serviceFlags, serviceOf } from './service-flags.ts'

const flags: readonly Flag[] = [...serviceFlags, dryRunFlag]

export const serviceUninstallCommand: Command = {
  name: 'service uninstall',
  summary: 'Stop the service and take its unit away. Its data stay.',
  example: 'sluice service uninstall',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const { SystemService } = await import('../../platform/service/system-service.ts')
    const { name, scope } = serviceOf(parsed)
    const service = new SystemService(name, scope)
    if (parsed.isSet('dry-run')) {
      console.log([...service.commands('uninstall'), `rm ${service.path}`].join('\n'))
      return 0
    }
    const wasThere = await service.uninstall()
    console.log(wasThere ? `${service.unit} is gone; its data are still there.` : `There is no ${service.path}.`)
    return 0
  },
}
