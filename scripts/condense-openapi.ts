/**
 * Condenses the OpenAPI documents of a real API server into src/resources/facts/core-facts.json: which fields
 * Kubernetes' own kinds have and how their lists and maps merge. What the documents say about them in words goes into
 * core-words.json beside it.
 *
 *     KUBEBUILDER_ASSETS=<folder with etcd and kube-apiserver> node scripts/condense-openapi.ts
 *     node scripts/condense-openapi.ts --server https://HOST:PORT --token TOKEN [--ca FILE]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { parseArgs } from 'node:util'
import { coreKinds } from '../src/resources/all-kinds.ts'
import { apiVersionOf } from '../src/resources/kind.ts'
import { metricsGroup } from '../src/resources/resource-metrics.ts'
import { condense, condenseWords, factsText, wordsText } from './condensed-facts.ts'
import { startRealControlPlane } from '../tests/kubernetes/real-control-plane.ts'

/** Types of requests and answers that are not among the kinds of a cluster. */
const besideKinds = [
  'v1/Binding',
  'v1/DeleteOptions',
  'v1/Status',
  'authentication.k8s.io/v1/TokenRequest',
  'autoscaling/v1/Scale',
  'policy/v1/Eviction',
]
// A server of its own has the metrics, and its documents are not among those of Kubernetes.
const described = coreKinds.filter(({ group }) => group !== metricsGroup)
const roots = [...described.map((kind) => `${apiVersionOf(kind)}/${kind.kind}`), ...besideKinds]
/** The paths of the documents that describe these types, such as `api/v1` and `apis/apps/v1`. */
const groupVersions = new Set(
  roots.map((root) => {
    const groupVersion = root.slice(0, root.lastIndexOf('/'))
    return groupVersion === 'v1' ? 'api/v1' : `apis/${groupVersion}`
  }),
)

interface Address {
  readonly server: string
  readonly token: string
  readonly ca?: string | undefined
}

const { values } = parseArgs({
  options: { server: { type: 'string' }, token: { type: 'string' }, ca: { type: 'string' } },
})
if (values.server === undefined) await fromOwnServer()
else
  await writeFacts({
    server: values.server,
    token: values.token ?? '',
    ca: values.ca && readFileSync(values.ca, 'utf8'),
  })

async function fromOwnServer(): Promise<void> {
  const plane = await startRealControlPlane()
  try {
    const config: { clusters: [{ cluster: Record<string, string> }]; users: [{ user: { token: string } }] } =
      JSON.parse(readFileSync(plane.kubeconfig, 'utf8'))
    const ca = Buffer.from(config.clusters[0].cluster['certificate-authority-data'] ?? '', 'base64').toString()
    await writeFacts({ server: plane.server, token: config.users[0].user.token, ca })
  } finally {
    await plane.stop()
  }
}

async function writeFacts(address: Address): Promise<void> {
  const documents = []
  for (const path of groupVersions) documents.push(await getJson(address, `/openapi/v3/${path}`))
  const folder = new URL('../src/resources/facts/', import.meta.url)
  const facts = condense(documents, roots)
  writeFileSync(new URL('core-facts.json', folder), factsText(facts))
  writeFileSync(new URL('core-words.json', folder), wordsText(condenseWords(documents, facts)))
}

function getJson({ server, token, ca }: Address, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
    const asking = request(server + path, { ca, headers, signal: AbortSignal.timeout(30_000) }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(Buffer.concat(chunks).toString()))
        else reject(new Error(`${path}: ${response.statusCode}`))
      })
    })
    asking.on('error', reject)
    asking.end()
  })
}
