import { SluiceError } from '../foundation/errors.ts'
import type { UpOptions } from '../platform/up-options.ts'
import type { Flag } from './command.ts'
import type { ParsedFlags } from './flags.ts'

/** Flags for the certificate of exposed services, of every command that serves them. */
export const exposureCertificateFlags: readonly Flag[] = [
  {
    name: 'exposure-cert',
    value: 'FILE',
    help: 'the certificate that exposed services show, with its chain (PEM; looked at again when it changes; default: one of our own)',
  },
  { name: 'exposure-key', value: 'FILE', help: 'the key of that certificate (PEM)' },
]

export function exposureCertificate(parsed: ParsedFlags): UpOptions['exposureCertificate'] {
  const [cert, key] = [parsed.text('exposure-cert'), parsed.text('exposure-key')]
  if (cert === undefined && key === undefined) return undefined
  if (cert !== undefined && key !== undefined) return { cert, key }
  const flag = cert === undefined ? '--exposure-key' : '--exposure-cert'
  throw new SluiceError('invalid_flag', { flag, reason: '--exposure-cert and --exposure-key belong together.' })
}
