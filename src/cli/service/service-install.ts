import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { upCommand, upOptions } from '../up.ts'
import { dryRunFlag, serviceFlags, serviceOf } from './service-flags.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', help: 'where everything is kept (default: /var/lib/sluice, or ~/.local/share/sluice)' },
  ...serviceFlags,
  dryRunFlag,
]

const program = fileURLToPath(new URL('../../../bin/sluice', import.meta.url))

export const serviceInstallCommand: Command = {
  name: 'service install',
  summary: 'Run `sluice up` as a service of systemd, from now on and after every boot. Its flags come after --.',
  example: 'sluice service install --data /srv/sluice -- --host 0.0.0.0',
  positional: '[-- FLAGS_OF_UP]',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    // Looked at now: a service that refuses its flags would only say so in its log.
    const asked = parsed.positionals
    upOptions(parseFlags(upCommand.flags, asked))
    const [{ renderServiceUnit }, { SystemService, serviceData }] = await Promise.all([
      import('../../platform/service/service-unit.ts'),
      import('../../platform/service/system-service.ts'),
    ])
    const { name, scope } = serviceOf(parsed)
    const data = resolve(parsed.text('data') ?? serviceData(scope))
    const service = new SystemService(name, scope)
    const text = renderServiceUnit({ scope, command: [program, 'up', '--data', data, ...asked] })
    if (parsed.isSet('dry-run')) {
      console.log([`# ${service.path}`, text, ...service.commands('install')].join('\n'))
      return 0
    }
    const { checkDirectory } = await import('../../platform/data/check-directory.ts')
    checkDirectory(data)
    const how = await service.install(text)
    console.log(
      `${service.unit} is ${how === 'unchanged' ? 'as it was' : how} (${service.path}) and runs; its data are in ${data}.`,
    )
    console.log(`Its log: journalctl ${scope === 'user' ? '--user ' : ''}-u ${service.unit}`)
    if (scope === 'user') console.log('To let it run without a login: loginctl enable-linger')
    return 0
  },
}
