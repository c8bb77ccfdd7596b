/**
 * The key by which clients are told apart where each has a share: the address or, for IPv6, its /64 network, because
 * one client has all addresses in that.
 */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [withoutZone = ''] = address.split('%')
  const [left = '', right] = withoutZone.split('::')
  const groups = groupsOf(left)
  if (right !== undefined) {
    const behind = groupsOf(right)
    // An IPv4 address at the end stands for two groups.
    const count = behind.length + (right.includes('.') ? 1 : 0)
    while (groups.length + count < 8) groups.push('0')
    groups.push(...behind)
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
