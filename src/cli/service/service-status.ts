import type { Command } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { serviceFlags, serviceOf } from './service-flags.ts'

const flags = [...serviceFlags, outputFlag]

export const serviceStatusCommand: Command = {
  name: 'service status',
  summary: 'Say whether the service is installed, and whether it runs. Ends with 3 if it does not.',
  example: 'sluice service status',
  flags,
  async run(args) {
    const { SystemService } = await import('../../platform/service/system-service.ts')
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const { name, scope } = serviceOf(parsed)
    const service = new SystemService(name, scope)
    const { isInstalled, active, enabled } = await service.state()
    const facts = { unit: service.unit, scope, path: service.path, installed: isInstalled, active, enabled }
    const sentence = isInstalled
      ? `${service.unit} is ${active}, and ${enabled} at boot (${service.path}).`
      : `${service.unit} is not installed (no ${service.path}).`
    const listing = { resource: 'service', nameOf: () => service.unit }
    process.stdout.write(await renderObject(facts, listing, form, [sentence]))
    return isInstalled && active === 'active' ? 0 : 3
  },
}
