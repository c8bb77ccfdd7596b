import http from 'node:http'
import { text } from 'node:stream/consumers'
import { clusterKind } from '../../../src/resources/cluster.ts'
import { secretKind } from '../../../src/resources/secret.ts'
import { serviceExporterKind } from '../../../src/resources/service-exporter.ts'
import type { Answer } from '../../support/ask-model.ts'
import { askEdge } from '../../support/chart-stage.ts'
import { namespace } from '../../support/model-stage.ts'
import { until } from '../../support/sluice-process.ts'
import type { NodeStage } from './node-stage.ts'

const patienceMs = 120_000
const managementPort = 8080

/** Asks the edge for the gateway, as somebody outside does who trusts the edge's own authority. */
export async function askExposedGateway(stage: NodeStage, path: string): Promise<Answer> {
  const { client, machine } = stage.cluster
  const url = async () => (await client.get(serviceExporterKind, { namespace, name: 'gateway' }))?.status?.url ?? ''
  await until('an exposed gateway', patienceMs, async () => (await url()) !== '')
  const secret = await client.get(secretKind, { namespace, name: 'sluice-authority' })
  const ca = Buffer.from(secret?.data?.['tls.crt'] ?? '', 'base64').toString()
  const [edge] = await stage.untilPodsOf('exposure', 1)
  const dial = (host: string, port: number) => machine.dial(host, port)
  return askEdge({ edge: edge?.status?.podIP ?? '', host: new URL(await url()), ca, path, dial })
}

/** Asks the management API for the cluster that it runs in, with a key pair that is made for it. */
export async function askManagement(stage: NodeStage): Promise<{ readonly id: string; readonly answer: unknown }> {
  const { client, machine } = stage.cluster
  const [home] = (await client.list(clusterKind, {})).items
  const id = home?.metadata.name ?? ''
  const { code, stdout, stderr } = await stage.sluice('access-key', 'create', 'node-test')
  if (code !== 0) throw new Error(stderr)
  const { accessKey, secretKey } = JSON.parse(stdout) as Record<string, string>
  const headers = { authorization: `plain Credential=${accessKey},Signature=${secretKey}`, connection: 'close' }
  const [pod] = await stage.untilPodsOf('management', 1)
  const host = pod?.status?.podIP ?? ''
  const createConnection = () => machine.dial(host, managementPort)
  const signal = AbortSignal.timeout(patienceMs)
  const said = await new Promise<string>((resolve, reject) => {
    http
      .get({ host, path: `/api/vks/v1/${id}`, headers, createConnection, signal }, (response) => {
        text(response).then(resolve, reject)
      })
      .on('error', reject)
  })
  const answer: unknown = JSON.parse(said)
  return { id, answer }
}
