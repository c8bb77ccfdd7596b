/** Where `ip netns` keeps namespaces: bound to files, they stay when this program does not. */
const namespaceFolder = '/run/netns'

/** What this node calls its things in the machine's network. The kernel takes at most 15 characters for a device. */
export class NetworkNames {
  readonly bridge: string
  readonly #id: string

  constructor(nodeId: string) {
    this.#id = nodeId.replaceAll('-', '').slice(0, 8)
    this.bridge = `sluice-${this.#id}`
  }

  static readonly namespaceFolder = namespaceFolder

  /** Whether a device is one of this node's or of another of this program on the machine. */
  static isOurs(device: string): boolean {
    return /^(?:sluice-[0-9a-f]{8}|s[0-9a-f]{8}-\d{1,5})$/.test(device)
  }

  /** Of the Pod with the address of this number: the machine's end of its cable. */
  cable(number: number): string {
    return `s${this.#id}-${number}`
  }

  /** Of the machine's end of every cable. Nobody asks for it: it is told to whom it concerns, and so is the Pod's. */
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

  /** Whose a device or a namespace is, if this node's. */
  numberOf(name: string): number | undefined {
    const [, id, number] = /^(?:s|sluice-)([0-9a-f]{8})-(\d{1,5})$/.exec(name) ?? []
    return id === this.#id && number !== undefined ? Number(number) : undefined
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
