import { SluiceError } from '../../foundation/errors.ts'
import type { ServiceScope } from '../../platform/service/service-unit.ts'
import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'

export const serviceFlags: readonly Flag[] = [
  { name: 'system', help: 'of the machine: runs as root, from the boot on (default for root)' },
  { name: 'user', help: 'of this user: runs while the user is logged in, or lingers (default for everybody else)' },
  { name: 'name', value: 'NAME', fallback: 'sluice', help: 'the name of the unit, where there are several' },
]

export const dryRunFlag: Flag = { name: 'dry-run', help: 'print what would be done, and do nothing' }

export function serviceOf(parsed: ParsedFlags): { readonly name: string; readonly scope: ServiceScope } {
  const name = parsed.text('name') ?? 'sluice'
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name)) {
    throw new SluiceError('invalid_flag', {
      flag: '--name',
      reason: `"${name}" must be letters, digits, "-", "_" and ".".`,
    })
  }
  const isRoot = process.getuid?.() === 0
  const [system, user] = [parsed.isSet('system'), parsed.isSet('user')]
  if (system && user) throw new SluiceError('invalid_flag', { flag: '--system', reason: 'it cannot be with --user.' })
  if (system && !isRoot && !parsed.isSet('dry-run')) {
    throw new SluiceError('invalid_flag', {
      flag: '--system',
      reason: 'only root may install services of the machine.',
    })
  }
  return { name, scope: system || (isRoot && !user) ? 'system' : 'user' }
}
