import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { serviceAccountKind } from '../../src/resources/service-account.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import { kubectlPath } from '../support/programs.ts'
import { type Difference, differences } from './differences.ts'
import { WatchReader } from './watch-reader.ts'
import type { WireObject } from './wire-object.ts'

export interface ServerAddress {
  readonly name: 'embedded' | 'real'
  readonly kubeconfig: string
  /** `https://127.0.0.1:PORT[/vks/<id>]` */
  readonly server: string
  readonly token: string
  /** Identifies the user carol of the group testers. */
  readonly certificate: { readonly key: string; readonly cert: string }
  /** The file with an audit line for every write. */
  readonly auditLog?: string | undefined
  /** How many past events can be watched, if that is known. */
  readonly historyLimit: number | undefined
}

export interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly bytes: Buffer
  /** The parsed JSON; an empty object when the body is not JSON. */
  readonly body: WireObject
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Another user's token; '' for none. */
  readonly token?: string
}

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Stands for a server that is missing: its tests are declared and skipped by name. */
export const absentServer: ServerAddress = {
  name: 'real',
  kubeconfig: '',
  server: 'https://absent',
  token: '',
  certificate: { key: '', cert: '' },
  historyLimit: undefined,
}

const deadlineMs = 60_000
let namespaces = 0

/** A server as client programs see it: raw HTTP, the typed client, kubectl. */
export class ContractServer {
  /** Ends the running test as skipped. */
  skipTest: (why: string) => void = () => {}
  readonly address: ServerAddress
  readonly #url: URL
  readonly #children: ChildProcess[] = []
  readonly #watches: WatchReader[] = []
  #agent: Agent | undefined
  #client: KubernetesClient | undefined
  #home: string | undefined
  #namespace = ''

  constructor(address: ServerAddress) {
    this.address = address
    this.#url = new URL(address.server)
  }

  get isReal(): boolean {
    return this.address.name === 'real'
  }

  /** The image of a test's Pods, from the registry that the embedded cluster requires. */
  get image(): string {
    return 'registry.lab-1.localhost/app:1'
  }

  get client(): KubernetesClient {
    if (!this.#client) throw new Error('the client is not connected yet: use it inside a test')
    return this.#client
  }

  /** The namespace of the running test. */
  get namespace(): string {
    return this.#namespace
  }

  /** A folder for files that a test creates. */
  get folder(): string {
    this.#home ??= mkdtempSync(join(tmpdir(), 'sluice-contract-'))
    return this.#home
  }

  async connect(): Promise<void> {
    const config = JSON.parse(readFileSync(this.address.kubeconfig, 'utf8')) as {
      clusters: Array<{ cluster: { 'certificate-authority-data': string } }>
    }
    const ca = Buffer.from(config.clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64')
    this.#agent = new Agent({ ca, keepAlive: true })
    this.#client = await connectKubernetes(this.address.kubeconfig)
  }

  async openNamespace(): Promise<void> {
    namespaces += 1
    this.#namespace = `t${process.pid}-${namespaces}`
    await this.client.create(namespaceKind, { metadata: { name: this.#namespace } })
    // Pods are only accepted when it exists, and without controllers nobody creates it.
    const account = { metadata: { name: 'default', namespace: this.#namespace } }
    if (this.isReal) await this.client.create(serviceAccountKind, account).catch(ignoreExisting)
  }

  disconnect(): void {
    for (const watch of this.#watches) watch.stop()
    for (const child of this.#children) child.kill('SIGKILL')
    this.#client?.close()
    this.#agent?.destroy()
    if (this.#home !== undefined) rmSync(this.#home, { recursive: true, force: true })
  }

  /**
   * True on the embedded server, which differs here on purpose; docs/explanation/architecture.md lists the difference.
   */
  differs(difference: Difference): boolean {
    return !this.isReal && difference in differences
  }

  /** The path of a resource in the test's namespace: `path('configmaps/a')`, `path('deployments', 'apps/v1')`. */
  path(rest: string, group = 'v1'): string {
    return `${group === 'v1' ? '/api/v1' : `/apis/${group}`}/namespaces/${this.#namespace}/${rest}`
  }

  /** Sends a body that is an object as JSON; a string or bytes as they are. */
  async http(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    try {
      return await this.#send(method, path, body, options)
    } catch (error) {
      // A server closes the connection after some refusals, and the next request may just have been sent on it.
      if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') {
        return this.#send(method, path, body, options)
      }
      throw error
    }
  }

  #send(method: string, path: string, body: unknown, { headers = {}, token }: CallOptions): Promise<Answer> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body)
    const payload = body === undefined ? undefined : Buffer.from(raw ? body : JSON.stringify(body))
    const bearer = token ?? this.address.token
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          method,
          host: this.#url.hostname,
          port: this.#url.port,
          path: this.#url.pathname.replace(/\/$/, '') + path,
          agent: this.#agent,
          signal: AbortSignal.timeout(deadlineMs),
          headers: {
            accept: 'application/json',
            ...(bearer !== '' && { authorization: `Bearer ${bearer}` }),
            ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const bytes = Buffer.concat(chunks)
            const text = bytes.toString('utf8')
            resolve({ code: response.statusCode ?? 0, headers: response.headers, text, bytes, body: jsonOf(text) })
          })
        },
      )
      outgoing.on('error', reject)
      outgoing.end(payload)
    })
  }

  /** The same, but it must succeed; returns the parsed answer. */
  async ok(method: string, path: string, body?: unknown, options?: CallOptions): Promise<WireObject> {
    const answer = await this.http(method, path, body, options)
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.text.slice(0, 500)}`)
    return answer.body
  }

  patch(path: string, format: 'json' | 'merge' | 'strategic-merge', body: unknown): Promise<Answer> {
    return this.http('PATCH', path, body, { headers: { 'content-type': `application/${format}-patch+json` } })
  }

  /** The lines of a watch, which ends with the file's tests at the latest. */
  watch(path: string, options: CallOptions = {}): Promise<WatchReader> {
    const { hostname, port, pathname } = this.#url
    const headers = { authorization: `Bearer ${options.token ?? this.address.token}`, ...options.headers }
    const where = { host: hostname, port, path: pathname.replace(/\/$/, '') + path, agent: this.#agent, headers }
    return WatchReader.open(where).then((reader) => {
      this.#watches.push(reader)
      return reader
    })
  }

  /** Runs kubectl in the test's namespace; it must succeed. Words are split at spaces, or given as a list. */
  async kubectl(command: string | readonly string[], input?: unknown): Promise<string> {
    const { code, stdout, stderr } = await this.tryKubectl(command, input)
    if (code !== 0) throw new Error(`kubectl ${String(command)}: ${stdout}${stderr}`)
    return stdout + stderr
  }

  /** The same, but it must be refused. */
  async kubectlRefused(command: string | readonly string[], input?: unknown): Promise<string> {
    const { code, stdout, stderr } = await this.tryKubectl(command, input)
    if (code === 0) throw new Error(`not refused: kubectl ${String(command)}: ${stdout}${stderr}`)
    return stdout + stderr
  }

  tryKubectl(
    command: string | readonly string[],
    input?: unknown,
    environment: Record<string, string> = {},
  ): Promise<Finished> {
    return this.run(this.#kubectl(), this.#kubectlWords(command), input, environment)
  }

  /** The lines of a kubectl that keeps running, such as `get -w`; it ends with the file's tests at the latest. */
  followKubectl(command: string | readonly string[]): { next(): Promise<string>; stop(): void } {
    const child = spawn(this.#kubectl(), this.#kubectlWords(command), {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: this.#environment(),
    })
    this.#children.push(child)
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return {
      next: async () => String((await lines.next()).value),
      stop: () => void child.kill('SIGKILL'),
    }
  }

  /** Runs any program, which has a minute to end. */
  run(
    program: string,
    words: readonly string[],
    input?: unknown,
    environment: Record<string, string> = {},
  ): Promise<Finished> {
    return new Promise((resolve) => {
      const options = { env: { ...this.#environment(), ...environment }, timeout: deadlineMs, maxBuffer: 16 << 20 }
      const child = execFile(program, [...words], options, (error, stdout, stderr) => {
        resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr })
      })
      child.stdin?.on('error', () => {})
      child.stdin?.end(input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
    })
  }

  #kubectl(): string {
    if (kubectlPath === undefined) this.skipTest('needs kubectl 1.27 or newer in $KUBEBUILDER_ASSETS or on the PATH')
    return kubectlPath ?? 'kubectl'
  }

  #kubectlWords(command: string | readonly string[]): string[] {
    const words = typeof command === 'string' ? command.split(' ') : command
    const namespaced = words.includes('-n') || words.includes('-A') ? [] : ['--namespace', this.#namespace]
    const { kubeconfig } = this.address
    return ['--kubeconfig', kubeconfig, '--cache-dir', join(this.folder, 'cache'), ...namespaced, ...words]
  }

  #environment(): Record<string, string> {
    return { HOME: this.folder, PATH: process.env['PATH'] ?? '' }
  }
}

function ignoreExisting(error: unknown): void {
  if (!isStatusError(error, 'AlreadyExists')) throw error
}

function jsonOf(text: string): WireObject {
  try {
    return JSON.parse(text) as WireObject
  } catch {
    return {} as WireObject
  }
}
