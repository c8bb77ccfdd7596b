import { existsSync, readFileSync, readdirSync } from 'node:fs'
import https from 'node:https'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { leaseKind } from '../../src/resources/lease.ts'
import type { Pod } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { type Answer, askModel } from './ask-model.ts'
import { ModelStage, namespace } from './model-stage.ts'
import { type Finished, runProgram } from './programs.ts'
import { until } from './sluice-process.ts'

export const chart = fileURLToPath(new URL('../../charts/sluice', import.meta.url))
/** The real helm, undefined without one. */
export const helmPath = helmIn(process.env['KUBEBUILDER_ASSETS'])
const patienceMs = 120_000
/** Release and objects are in different namespaces on purpose. */
const releaseNamespace = 'default'

function helmIn(folder: string | undefined): string | undefined {
  const path = folder === undefined ? undefined : join(folder, 'helm')
  return path !== undefined && existsSync(path) ? path : undefined
}

/** A cluster without a gateway of its own, for what the chart brings. */
export class ChartStage extends ModelStage {
  constructor() {
    super(['--no-gateway'])
  }

  async helm(...words: readonly string[]): Promise<string> {
    const base = ['--kubeconfig', this.sluice.kubeconfig, '--namespace', releaseNamespace]
    const { code, stdout, stderr } = await this.#helmWithPatience([...words, ...base])
    if (code !== 0) throw new Error(`helm ${words.join(' ')}: ${stdout}${stderr}\n${this.roleLogs()}`)
    return stdout
  }

  #helmWithPatience(words: readonly string[]): Promise<Finished> {
    return runProgram(helmPath ?? '', words, '', 3 * patienceMs)
  }

  /** The Pods of a role that run and are not about to go. */
  async podsOf(role: string): Promise<readonly Pod[]> {
    return (await this.pods()).filter((pod) => isReadyPodOf(pod, role))
  }

  async untilPodsOf(role: string, count: number): Promise<readonly Pod[]> {
    await until(`${count} Pods of ${role}`, patienceMs, async () => (await this.podsOf(role)).length === count)
    return this.podsOf(role)
  }

  async podsOfModel(model: string): Promise<readonly Pod[]> {
    return (await this.pods()).filter(({ metadata }) => metadata.labels?.['sluice.dev/model'] === model)
  }

  /** Waits until the Model has gone back to zero. */
  async untilAsleep(model: string): Promise<void> {
    await until(`${model} sleeps`, patienceMs, async () => (await this.podsOfModel(model)).length === 0)
  }

  /** The name of the Pod that leads. */
  async leader(): Promise<string> {
    const lease = await this.client.get(leaseKind, { namespace, name: 'sluice-controller' })
    return lease?.spec?.holderIdentity?.split('_')[0] ?? ''
  }

  async serviceAddress(): Promise<string> {
    const service = await this.client.get(serviceKind, { namespace, name: 'gateway' })
    return `http://${service?.spec.clusterIP ?? ''}:80`
  }

  ask(gateway: string, model: string): Promise<Answer> {
    return askModel(gateway, model)
  }

  /** The certificate of the authority that the chart's edges have made. */
  async edgeAuthority(): Promise<string> {
    const secret = await this.client.get(secretKind, { namespace, name: 'sluice-authority' })
    return Buffer.from(secret?.data?.['tls.crt'] ?? '', 'base64').toString()
  }

  /** The host and port at which the gateway is exposed. */
  async exposedHost(): Promise<URL> {
    const url = async () =>
      (await this.client.get(serviceExporterKind, { namespace, name: 'gateway' }))?.status?.url ?? ''
    await until('an exposed gateway', patienceMs, async () => (await url()) !== '')
    return new URL(await url())
  }

  /** Everything that the roles have logged so far, also those that are gone. */
  roleLogs(): string {
    const folder = join(this.data, 'logs/pods')
    const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
    return files
      .filter((file) => /^sluice_(controller|gateway|exposure|management|sluice-farewell)-.*\.(log|raw)$/.test(file))
      .map((file) => textOf(join(folder, file)))
      .join('')
  }

  /** What the API server refused to accounts of the chart. */
  refusals(): string[] {
    const lines = readFileSync(join(this.data, 'logs/audit.log'), 'utf8').split('\n')
    return lines.filter((line) => line.includes(':sluice:sluice-') && line.includes('"code":403'))
  }
}

/** Asks one edge for something of an exposed host. */
export function askEdge(about: {
  readonly edge: string
  readonly host: URL
  readonly ca: string
  readonly path: string
  /** How the edge is connected to, where that is in another network. */
  readonly dial?: (host: string, port: number) => Socket
}): Promise<Answer> {
  const { edge, host, ca, path, dial } = about
  const headers = { host: host.host }
  const secured = { servername: host.hostname, ca }
  const where = { host: edge, port: host.port, ...secured, path, headers }
  // An agent would connect by itself.
  const how = dial
    ? { createConnection: () => connect({ socket: dial(edge, Number(host.port)), ...secured }) }
    : { agent: false as const }
  const signal = AbortSignal.timeout(patienceMs)
  return new Promise((resolve, reject) => {
    const request = https.get({ ...where, ...how, signal }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

/** Whether a Pod is of this role, serves, and is not about to go. */
export function isReadyPodOf({ metadata, status }: Pod, role: string): boolean {
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  return isReady && metadata.labels?.['sluice.dev/role'] === role && metadata.deletionTimestamp === undefined
}

export function addressOf(pod: Pod): string {
  return `http://${pod.status?.podIP ?? ''}:8000`
}

/** The logs of a Pod go with it, at any moment. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
