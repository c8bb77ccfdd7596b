import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { createLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { StatusError } from '../../resources/status-error.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { certificateUsers, firstKnown, knownTokens } from '../access/identity/authentication.ts'
import { mastersOnly } from '../access/roles/rbac-authorizer.ts'
import { ApiServer } from '../api-server.ts'
import type { AuditEvent } from '../audit/audit-event.ts'
import { ClusterApi } from '../cluster-api.ts'
import type { LogOptions, NodeUsage } from '../pods/pod-access.ts'
import type { TestCertificates } from './certificates.fixture.ts'

export interface Reply {
  readonly code: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly json: Record<string, unknown>
}

export interface CallOptions {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: unknown
  /** The administrator's token, unless another is given. */
  readonly token?: string | null
  readonly client?: { readonly key: string; readonly cert: string }
}

export const maps = '/api/v1/namespaces/default/configmaps'
export const pods = '/api/v1/namespaces/default/pods'
export const models = '/apis/sluice.dev/v1/namespaces/default/models'

/** A server with one cluster that has the namespace `default`, and clients that ask it over TLS. */
export class ApiServerStage {
  readonly clock = new FakeClock()
  readonly logLines: string[] = []
  /** The options of the log requests that arrived. */
  readonly logRequests: LogOptions[] = []
  readonly audited: AuditEvent[] = []
  readonly api: ClusterApi
  readonly server: ApiServer
  storeIsHealthy = true
  /** What the node says is used. */
  usage: NodeUsage = { endedAt: 0, windowMs: 1_000, containers: [] }
  readonly #certificates: TestCertificates
  readonly #agents: Agent[] = []
  #port = 0

  constructor(certificates: TestCertificates) {
    this.#certificates = certificates
    const { clock } = this
    const log = createLogger({ level: 'debug', destination: { write: (line) => void this.logLines.push(line) } })
    this.api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
    const tls = { ...certificates.server, ca: certificates.ca }
    const limits = { watchesPerUser: 2, bodyBytes: 64 * 1024, jsonDepth: 20 }
    const audit = (event: AuditEvent) => void this.audited.push(event)
    this.server = new ApiServer({ tls, log, clock, metrics: new Metrics(), limits, audit })
    this.#mount()
  }

  #mount(): void {
    const { logRequests } = this
    this.server.mount({
      id: 'one',
      api: this.api,
      podAccess: {
        async *logs(pod, options) {
          logRequests.push(options)
          if (pod.metadata.name === 'silent') throw new StatusError('BadRequest', 'container "main" has not started')
          yield Buffer.from('first\n')
          yield Buffer.from('second\n')
        },
        usage: async () => this.usage,
      },
      authenticate: firstKnown(
        knownTokens([{ token: 'secret-token', user: { name: 'admin', groups: ['system:masters'] } }]),
        certificateUsers(this.#certificates.ca),
      ),
      authorizer: {
        ...mastersOnly,
        decide(user, attempt) {
          if (user.name === 'ada') return { allowed: attempt.verb !== 'delete', reason: 'ada may not delete' }
          return mastersOnly.decide(user, attempt)
        },
      },
      checks: [{ name: 'store', isHealthy: () => this.storeIsHealthy }],
    })
  }

  async start(): Promise<void> {
    await this.api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
    this.#port = (await this.server.listen('127.0.0.1', 0)).port
  }

  async stop(): Promise<void> {
    this.hangUp()
    await this.server.close(0)
  }

  /** Ends every connection that was opened. */
  hangUp(): void {
    for (const agent of this.#agents.splice(0)) agent.destroy()
  }

  async open(method: string, path: string, options: CallOptions = {}): Promise<IncomingMessage> {
    const agent = new Agent({ ca: this.#certificates.ca, ...options.client })
    this.#agents.push(agent)
    const token = options.token === undefined ? 'secret-token' : options.token
    const body = typeof options.body === 'string' ? options.body : options.body && JSON.stringify(options.body)
    const headers = {
      ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    }
    const call = httpsRequest({ host: '127.0.0.1', port: this.#port, method, path, headers, agent })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      call.once('response', resolve).once('error', reject)
    })
    call.end(body)
    return answered
  }

  async send(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const response = await this.open(method, path, options)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('utf8')
    const isJson = (response.headers['content-type'] ?? '').startsWith('application/json')
    const json: Record<string, unknown> = isJson && !text.includes('\n{') ? JSON.parse(text) : {}
    return { code: response.statusCode ?? 0, headers: response.headers, text, json }
  }

  /** The same within the cluster. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply> {
    return this.send(method, `/vks/one${path}`, options)
  }
}
