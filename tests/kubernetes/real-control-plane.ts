import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestCertificates } from '../../src/apiserver/test-support/certificates.fixture.ts'
import { until } from '../support/sluice-process.ts'

/** A control plane that a client reaches by a kubeconfig and nothing else. */
export interface ControlPlane {
  readonly kubeconfig: string
  readonly server: string
  /** The administrator's token. */
  readonly token: string
  /** Identifies the user carol of the group testers. */
  readonly certificate: { readonly key: string; readonly cert: string }
  /** The IDs of its processes, if it has its own. */
  readonly pids: readonly number[]
  /** A file with an audit line for every write, if it was asked for. */
  readonly auditLog?: string | undefined
  /** The address of its etcd, if it has one. */
  readonly etcd?: string | undefined
  stop(): Promise<void>
}

const readyDeadlineMs = 90_000
const stopDeadlineMs = 10_000
const host = '127.0.0.1'

/** Why there is no real Kubernetes here; undefined when there is one. */
export function missingControlPlane(): string | undefined {
  const assets = process.env['KUBEBUILDER_ASSETS']
  if (!assets) return 'KUBEBUILDER_ASSETS does not name a folder with etcd and kube-apiserver'
  const missing = ['etcd', 'kube-apiserver'].filter((program) => !existsSync(join(assets, program)))
  return missing.length === 0 ? undefined : `KUBEBUILDER_ASSETS has no ${missing.join(' and no ')}`
}

/**
 * A real etcd and kube-apiserver on loopback, in a folder of their own that is removed with them. `durable`: etcd syncs
 * every write to disk, as in production; tests do without. `ipv6Range`: Services also get IPv6 addresses from there.
 * `audited`: it keeps an audit log of writes, or of everything that it is asked. `flags`: further ones of the API
 * server.
 */
export async function startRealControlPlane(
  options: {
    readonly durable?: boolean
    readonly ipv6Range?: string
    readonly audited?: boolean | 'everything'
    readonly flags?: readonly string[]
  } = {},
): Promise<ControlPlane> {
  const assets = process.env['KUBEBUILDER_ASSETS'] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'sluice-kubernetes-'))
  const children: ChildProcess[] = []
  const start = (program: string, args: readonly string[]) => {
    const child = spawn(join(assets, program), args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const log = createWriteStream(join(folder, `${program}.log`))
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    children.push(child)
    return child
  }
  const stop = async () => {
    for (const child of children.toReversed()) await stopProcess(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const [clientPort, peerPort, apiPort] = await freePorts(3)
    const etcd = `http://${host}:${clientPort}`
    const flags = etcdFlags(join(folder, 'etcd'), etcd, `http://${host}:${peerPort}`)
    start('etcd', options.durable ? flags : [...flags, '--unsafe-no-fsync'])
    const token = randomBytes(16).toString('hex')
    const { ca, client } = await createTestCertificates('CN=carol, O=testers')
    writeFileSync(join(folder, 'client-ca.crt'), ca)
    const auditLog = options.audited ? join(folder, 'audit.log') : undefined
    const apiserver = start('kube-apiserver', [
      ...apiserverFlags(folder, etcd, apiPort ?? 0, token, options.ipv6Range),
      ...(auditLog === undefined ? [] : auditFlags(folder, auditLog, options.audited === 'everything')),
      ...(options.flags ?? []),
    ])
    const server = `https://${host}:${apiPort}`
    const certificate = join(folder, 'certs', 'apiserver.crt')
    await untilReady(server, certificate, token, apiserver, join(folder, 'kube-apiserver.log'))
    const kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigText(server, certificate, token), { mode: 0o600 })
    const pids = children.flatMap(({ pid }) => pid ?? [])
    return { kubeconfig, server, token, certificate: client, pids, auditLog, etcd, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function etcdFlags(data: string, client: string, peer: string): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--log-level=warn',
  ]
}

function apiserverFlags(folder: string, etcd: string, port: number, token: string, ipv6Range?: string): string[] {
  mkdirSync(join(folder, 'certs'))
  const tokens = join(folder, 'tokens.csv')
  writeFileSync(tokens, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 })
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signingKey = join(folder, 'service-accounts.key')
  const verifyingKey = join(folder, 'service-accounts.pub')
  writeFileSync(signingKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  writeFileSync(verifyingKey, publicKey.export({ type: 'spki', format: 'pem' }))
  return [
    `--etcd-servers=${etcd}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--secure-port=${port}`,
    // It creates its own serving certificate there, valid for the address it binds to.
    `--cert-dir=${join(folder, 'certs')}`,
    // The Service "kubernetes" must not point to a loopback address.
    '--endpoint-reconciler-type=none',
    `--token-auth-file=${tokens}`,
    `--client-ca-file=${join(folder, 'client-ca.crt')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-signing-key-file=${signingKey}`,
    `--service-account-key-file=${verifyingKey}`,
    `--service-cluster-ip-range=${['10.96.0.0/16', ...(ipv6Range === undefined ? [] : [ipv6Range])].join(',')}`,
  ]
}

/** The requests that the embedded server writes lines about, at the level that it has. */
function auditFlags(folder: string, log: string, everything: boolean): string[] {
  const connections = ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'services/proxy', 'nodes/proxy']
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      ...(everything ? [{ level: 'Metadata' }] : []),
      { level: 'Metadata', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection', 'post', 'put'] },
      { level: 'Metadata', resources: [{ group: '', resources: connections }] },
      { level: 'None' },
    ],
  }
  const file = join(folder, 'audit-policy.json')
  writeFileSync(file, JSON.stringify(policy))
  return [`--audit-policy-file=${file}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking']
}

function kubeconfigText(server: string, certificate: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'real',
        cluster: { server, 'certificate-authority-data': readFileSync(certificate).toString('base64') },
      },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
    'current-context': 'real',
  })
}

async function untilReady(server: string, certificate: string, token: string, child: ChildProcess, log: string) {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  try {
    await until('the kube-apiserver', readyDeadlineMs, async () => {
      if (hasEnded()) throw new Error('it has ended')
      return existsSync(certificate) && (await isReady(server, certificate, token))
    })
  } catch (error) {
    const lastLines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5).join('\n')
    throw new Error(`kube-apiserver is not ready:\n${lastLines}`, { cause: error })
  }
}

function isReady(server: string, certificate: string, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = {
      ca: readFileSync(certificate),
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(5_000),
      agent: false,
    }
    const asking = request(`${server}/readyz`, options, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asking.on('error', () => resolve(false))
    asking.end()
  })
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, host))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
  await exited
  clearTimeout(timer)
}
