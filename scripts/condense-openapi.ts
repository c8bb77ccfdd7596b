/**
 * Condenses the OpenAPI documents of a real API server into src/resources/facts/core-facts.json: which fields Kubernetes' own kinds have
 * and how their lists and maps merge. Facts only, no descriptions.
 *
 *     KUBEBUILDER_ASSETS=<folder with etcd and kube-apiserver> node scripts/condense-openapi.ts
 *     node scripts/condense-openapi.ts --server https://HOST:PORT --token TOKEN [--ca FILE]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { parseArgs } from 'node:util'
import { condense, factsText } from './condensed-facts.ts'
import { startRealControlPlane } from '../tests/kubernetes/real-control-plane.ts'

const groupVersions = [
  'api/v1',
  'apis/apiextensions.k8s.io/v1',
  'apis/apps/v1',
  'apis/authentication.k8s.io/v1',
  'apis/authorization.k8s.io/v1',
  'apis/autoscaling/v1',
  'apis/batch/v1',
  'apis/coordination.k8s.io/v1',
  'apis/discovery.k8s.io/v1',
  'apis/events.k8s.io/v1',
  'apis/networking.k8s.io/v1',
  'apis/node.k8s.io/v1',
  'apis/policy/v1',
  'apis/rbac.authorization.k8s.io/v1',
  'apis/storage.k8s.io/v1',
]

const roots = [
  'v1/Binding',
  'v1/ConfigMap',
  'v1/DeleteOptions',
  'v1/Endpoints',
  'v1/Event',
  'v1/Namespace',
  'v1/Node',
  'v1/PersistentVolume',
  'v1/PersistentVolumeClaim',
  'v1/Pod',
  'v1/PodTemplate',
  'v1/ResourceQuota',
  'v1/Secret',
  'v1/Service',
  'v1/ServiceAccount',
  'v1/Status',
  'apiextensions.k8s.io/v1/CustomResourceDefinition',
  'apps/v1/ControllerRevision',
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
  'authentication.k8s.io/v1/SelfSubjectReview',
  'authentication.k8s.io/v1/TokenRequest',
  'authentication.k8s.io/v1/TokenReview',
  'authorization.k8s.io/v1/LocalSubjectAccessReview',
  'authorization.k8s.io/v1/SelfSubjectAccessReview',
  'authorization.k8s.io/v1/SelfSubjectRulesReview',
  'authorization.k8s.io/v1/SubjectAccessReview',
  'autoscaling/v1/Scale',
  'batch/v1/Job',
  'coordination.k8s.io/v1/Lease',
  'discovery.k8s.io/v1/EndpointSlice',
  'events.k8s.io/v1/Event',
  'networking.k8s.io/v1/IPAddress',
  'networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1/IngressClass',
  'networking.k8s.io/v1/NetworkPolicy',
  'networking.k8s.io/v1/ServiceCIDR',
  'node.k8s.io/v1/RuntimeClass',
  'policy/v1/Eviction',
  'rbac.authorization.k8s.io/v1/ClusterRole',
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding',
  'rbac.authorization.k8s.io/v1/Role',
  'rbac.authorization.k8s.io/v1/RoleBinding',
  'storage.k8s.io/v1/StorageClass',
]

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
  const file = new URL('../src/resources/facts/core-facts.json', import.meta.url)
  writeFileSync(file, factsText(condense(documents, roots)))
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
