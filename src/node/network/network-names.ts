/** Where `ip netns` keeps namespaces: bound to files, they outlive this program. */
const namespaceFolder = '/run/netns'

/** The names of this node's devices and namespaces. The kernel allows 15 characters for a device. */
export class NetworkNames {
  readonly bridge: string
  /** In the packet filter, of the family `inet`. */
  readonly table: string
  readonly #id: string

  constructor(nodeId: string) {
    this.#id = nodeId.replaceAll('-', '').slice(0, 8)
    this.bridge = `sluice-${this.#id}`
    this.table = `sluice_${this.#id}`
  }

  static readonly namespaceFolder = namespaceFolder

  /** Whether a device belongs to this node or to another node of this program on the machine. */
  static isOurs(device: string): boolean {
    return /^(?:sluice-[0-9a-f]{8}|s[0-9a-f]{8}-\d{1,5})$/.test(device)
  }

  /** The bridge of the node that has a table, as `nft list tables` names it; `undefined` for tables of others. */
  static bridgeOfTable(table: string): string | undefined {
    const [, id] = /^table inet sluice_([0-9a-f]{8})$/.exec(table) ?? []
    return id === undefined ? undefined : `sluice-${id}`
  }

  /** The machine's end of the veth pair of the Pod with this address number. */
  cable(number: number): string {
    return `s${this.#id}-${number}`
  }

  /**
   * The link address of the machine's end of every veth pair. It is fixed, as are the Pods': neighbour entries are set
   * up on both sides, so nobody has to ask for it.
   */
  readonly machineLink = '02:73:6c:75:69:63'

  podLink(number: number): string {
    const [first, second] = [this.#id.slice(0, 2), this.#id.slice(2, 4)]
    return ['02', '73', first, second, hex(number >> 8), hex(number & 0xff)].join(':')
  }

  namespace(number: number): string {
    return `sluice-${this.#id}-${number}`
  }

  namespaceFile(number: number): string {
    return `${namespaceFolder}/${this.namespace(number)}`
  }

  /** The number in the name of one of this node's devices or namespaces. */
  numberOf(name: string): number | undefined {
    const [, id, number] = /^(?:s|sluice-)([0-9a-f]{8})-(\d{1,5})$/.exec(name) ?? []
    return id === this.#id && number !== undefined ? Number(number) : undefined
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
