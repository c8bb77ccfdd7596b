import { isIPv4 } from 'node:net'
import { SluiceError } from '../../foundation/errors.ts'

/** Services on the internet whose names say which address they stand for: 192-0-2-1.sslip.io is 192.0.2.1. */
const speakingDomains: readonly string[] = ['sslip.io', 'nip.io']

const domainPattern = /^(?=.{1,180}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/

/**
 * The domain under which services are exposed, for what was asked. A domain of one's own needs an entry `*.DOMAIN` in
 * its DNS; below those that speak, it follows from the address at which others reach this machine.
 */
export function exposureDomain(asked: string, reachable: readonly string[]): string {
  const domain = asked.toLowerCase().replace(/\.$/, '')
  if (!domainPattern.test(domain)) {
    throw refused(`"${asked}" is no domain. Name one of your own, such as models.example.com, or sslip.io.`)
  }
  if (!speakingDomains.includes(domain)) return domain
  const address = reachable.find((one) => isIPv4(one))
  if (address === undefined) {
    throw refused(
      `${domain} needs an address at which others reach this machine. Add --host 0.0.0.0, or one of its addresses.`,
    )
  }
  return `${address.replaceAll('.', '-')}.${domain}`
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: '--exposure-domain', reason })
}
