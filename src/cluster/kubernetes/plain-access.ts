import { readFileSync } from 'node:fs'
import type { ClusterAccess, RequestToServer } from './cluster-access.ts'
import type { KubeconfigCluster, KubeconfigUser, Material } from './kubeconfig-file.ts'

/** Tokens in files are renewed long before they run out; certificates now and then. */
const freshMs = 30_000

/** Access by a token, a certificate or a password. */
export class PlainAccess implements ClusterAccess {
  readonly proxied = false
  readonly server: string
  readonly #cluster: KubeconfigCluster
  readonly #user: KubeconfigUser
  readonly #now: () => number
  readonly #files = new Map<string, { readonly text: string; readonly readAt: number }>()

  constructor(cluster: KubeconfigCluster, user: KubeconfigUser, now: () => number = () => performance.now()) {
    this.server = cluster.server
    this.#cluster = cluster
    this.#user = user
    this.#now = now
  }

  async apply(options: RequestToServer): Promise<void> {
    const { authority, serverName, skipsVerification } = this.#cluster
    const { username, password, certificate, key } = this.#user
    const token = this.#user.tokenFile === undefined ? this.#user.token : this.#read(this.#user.tokenFile).trim()
    if (token) options.headers['authorization'] = `Bearer ${token}`
    else if (username !== undefined) options.auth = `${username}:${password ?? ''}`
    if (authority) options.ca = this.#textOf(authority)
    if (certificate) options.cert = this.#textOf(certificate)
    if (key) options.key = this.#textOf(key)
    if (serverName !== undefined) options.servername = serverName
    if (skipsVerification) options.rejectUnauthorized = false
  }

  #textOf(material: Material): string {
    return 'text' in material ? material.text : this.#read(material.file)
  }

  #read(path: string): string {
    const now = this.#now()
    const known = this.#files.get(path)
    if (known && now - known.readAt < freshMs) return known.text
    try {
      const text = readFileSync(path, 'utf8')
      this.#files.set(path, { text, readAt: now })
      return text
    } catch (error) {
      // While a file is being replaced, what it said is still good.
      if (known) return known.text
      throw error
    }
  }
}
