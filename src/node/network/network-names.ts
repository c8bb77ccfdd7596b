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

  /** Of the Pod with the address of this number: the machine's end of its cable. */
  cable(number: number): string {
    return `s${this.#id}-${number}`
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
