import { BlockList, isIP, isIPv4 } from 'node:net'
import { SluiceError } from '../../foundation/errors.ts'

/** The addresses of proxies that are believed about their clients: the edge, or a load balancer. */
export class TrustedProxies {
  readonly #addresses = new BlockList()
  /** No entry, as with most gateways: then nothing is looked up, which would take long. */
  #isEmpty = true

  /** Reads a list such as `10.0.0.0/8,192.168.1.7,::1`; an empty one trusts nobody. */
  static parse(text: string, flag: string): TrustedProxies {
    const proxies = new TrustedProxies()
    for (const entry of text.split(',').map((part) => part.trim())) {
      if (entry !== '' && !proxies.#add(entry)) {
        const reason = `"${entry}" is neither an address nor a range such as 10.0.0.0/8.`
        throw new SluiceError('invalid_flag', { flag, reason })
      }
    }
    return proxies
  }

  includes(address: string): boolean {
    if (this.#isEmpty || isIP(address) === 0) return false
    return this.#addresses.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }

  #add(entry: string): boolean {
    const [, address = '', bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
    const version = isIP(address)
    const longest = version === 4 ? 32 : 128
    const prefix = bits === undefined ? longest : Number(bits)
    if (version === 0 || prefix > longest) return false
    this.#addresses.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
    this.#isEmpty = false
    return true
  }
}

export const noProxies: TrustedProxies = new TrustedProxies()
