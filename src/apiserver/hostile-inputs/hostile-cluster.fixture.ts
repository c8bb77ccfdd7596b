import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { roleBindingKind } from '../../resources/role-binding.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterAccess } from '../access/cluster-access.ts'
import { SigningKey } from '../access/identity/signing-key.ts'
import { ApiServer } from '../api-server.ts'
import { knownTokens } from '../access/identity/authentication.ts'
import type { TestCertificates } from '../test-support/certificates.fixture.ts'
import { ClusterApi } from '../cluster-api.ts'
import type { Call } from './hostile-calls.fixture.ts'
import { QuotaAdmission } from '../quota/quota-admission.ts'
import { QuotaLedger } from '../quota/quota-ledger.ts'

export interface Answer {
  readonly code: number
  readonly bytes: number
  readonly text: string
}

/** For tests: a whole API server over a store in memory. `ada` administers the namespace `team`, `root` everything. */
export class HostileCluster {
  readonly #access: ClusterAccess
  readonly #server: ApiServer
  readonly #agent: Agent
  readonly #port: number

  private constructor(access: ClusterAccess, server: ApiServer, agent: Agent, port: number) {
    this.#access = access
    this.#server = server
    this.#agent = agent
    this.#port = port
  }

  static async start(certificates: TestCertificates): Promise<HostileCluster> {
    const store = new MemoryStore()
    const signingKey = SigningKey.generatePem()
    const access = new ClusterAccess({ store, log: silentLogger, signingKey, issuer: 'https://cluster/one' })
    const kinds = [...coreKinds, ...customKinds]
    const quota = new QuotaAdmission(new QuotaLedger({ store, kinds: () => kinds }))
    const api = new ClusterApi({ store, kinds, clock: systemClock, admission: access.admission, plugins: [quota] })
    await access.start(api)
    await api.create(namespaceKind, undefined, { metadata: { name: 'team' } })
    await api.create(roleBindingKind, 'team', {
      metadata: { name: 'admins' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ada' }],
    })
    const tls = { ...certificates.server, ca: certificates.ca }
    const server = new ApiServer({ tls, log: silentLogger, clock: systemClock, metrics: new Metrics() })
    const users = [
      { token: 'root', user: { name: 'root', groups: ['system:masters'] } },
      { token: 'ada', user: { name: 'ada', groups: ['system:authenticated'] } },
    ]
    server.mount({
      id: 'one',
      api,
      podAccess: { logs: () => (async function* () {})() },
      authenticate: knownTokens(users),
      authorizer: access.authorizer,
    })
    const { port } = await server.listen('127.0.0.1', 0)
    return new HostileCluster(access, server, new Agent({ ca: certificates.ca, keepAlive: true }), port)
  }

  async send({
    method,
    path,
    type = 'application/json',
    body = '',
    user = 'ada',
    accept = '*/*',
  }: Call): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${user}`,
      accept,
      'content-type': type,
      'content-length': Buffer.byteLength(body),
    }
    const target = { host: '127.0.0.1', port: this.#port, agent: this.#agent, path: `/vks/one${path}`, method, headers }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = httpsRequest(target, resolve)
      call.once('error', reject)
      call.end(body)
    })
    const bytes = await buffer(response)
    return { code: response.statusCode ?? 0, bytes: bytes.length, text: bytes.toString('utf8') }
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    await this.#server.close(0)
    await this.#access.stop()
  }
}
