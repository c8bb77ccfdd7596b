import { isIPv4, isIPv6 } from 'node:net'
import { type DomainName, lowered } from './domain-name.ts'

/** An address in network order, 4 or 16 bytes; `undefined` if the text is not an address, or has a scope. */
export function addressBytes(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split('.').map(Number))
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [before = '', after] = text.split('::')
  const head = groupsOf(before)
  const tail = after === undefined ? [] : groupsOf(after)
  const missing = Array.from({ length: 8 - head.length - tail.length }, () => 0)
  const bytes = Buffer.alloc(16)
  for (const [at, group] of [...head, ...missing, ...tail].entries()) bytes.writeUInt16BE(group, at * 2)
  return bytes
}

/** Equal for every notation of the address. */
export function addressKey(bytes: Buffer): string {
  return bytes.toString('latin1')
}

/** The address that a reverse name stands for: `4.3.2.1.in-addr.arpa`, or 32 digits under `ip6.arpa`. */
export function reversedAddress(name: DomainName): Buffer | undefined {
  const tree = name.slice(-2).map(lowered).join('.')
  const digits = name.slice(0, -2).toReversed()
  if (tree === 'in-addr.arpa') {
    const text = digits.join('.')
    return isIPv4(text) ? addressBytes(text) : undefined
  }
  if (tree !== 'ip6.arpa' || digits.length !== 32 || !digits.every((digit) => /^[0-9a-fA-F]$/.test(digit)))
    return undefined
  return Buffer.from(digits.join(''), 'hex')
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    const embedded = isIPv4(group) ? group.split('.').map(Number) : undefined
    if (!embedded) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = embedded
    return [a * 256 + b, c * 256 + d]
  })
}
