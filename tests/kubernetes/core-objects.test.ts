import { expect, it } from 'vitest'
import { apiVersionOf } from '../../src/resources/kind.ts'
import { coreKinds } from '../../src/resources/all-kinds.ts'
import type { ContractServer } from './contract-server.ts'
import * as core from './core-manifests.ts'
import { acceptedNetworkManifests, refusedNetworkManifests } from './network-manifests.ts'
import { onEachServer } from './on-each-server.ts'
import * as refused from './refused-manifests.ts'
import type { WireObject } from './wire-object.ts'

// The answers were recorded from a real server: vitest run -u --project kubernetes
// tests/kubernetes/core-objects.test.ts
const answers = (name: string) => `./answers/core-objects/${name}.txt`

const acceptedManifests = [...core.acceptedManifests, ...acceptedNetworkManifests]
const refusedManifests = [...refused.refusedManifests, ...refusedNetworkManifests]

/** What differs from run to run, or on purpose. */
const notCompared = new Set([
  'metadata.uid',
  'metadata.creationTimestamp',
  'metadata.resourceVersion',
  'metadata.managedFields',
  'metadata.namespace',
  // No controller is there to remove them again: see "protection finalizers" and "node registration".
  'metadata.finalizers',
  'spec.taints',
  'status.daemonEndpoints',
  'status.nodeInfo',
  'status.lastPhaseTransitionTime',
])

/** Every field on a line of its own, sorted, so that a difference is easy to see. */
function linesOf(value: unknown, path = ''): string[] {
  if (value === null || value === undefined || notCompared.has(path)) return []
  if (typeof value === 'object' && Object.keys(value).length > 0) {
    const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
    return entries.flatMap(([field, inner]) => linesOf(inner, path === '' ? field : `${path}.${field}`))
  }
  return [`  ${path}: ${JSON.stringify(value)}`]
}

/** Different every time. */
const addressOfService = /"10\.96\.\d+\.\d+"/g
const tokenVolume = /kube-api-access-[a-z0-9]{5}/g
const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

async function tryCreate(server: ContractServer, manifest: core.Manifest): Promise<{ code: number; body: WireObject }> {
  const kind = coreKinds.find((each) => apiVersionOf(each) === manifest.apiVersion && each.kind === manifest.kind)
  const group = manifest.apiVersion === 'v1' ? '/api/v1' : `/apis/${manifest.apiVersion}`
  const place = kind?.namespaced ? server.path(kind.plural, manifest.apiVersion) : `${group}/${kind?.plural}`
  const text = JSON.stringify(manifest).replaceAll('"namespace":"default"', `"namespace":"${server.namespace}"`)
  return server.http('POST', `${place}?dryRun=All`, text, { headers: { 'content-type': 'application/json' } })
}

onEachServer((server) => {
  it.each([...new Set(acceptedManifests.map(({ kind }) => kind))])('completes what is said of a %s', async (kind) => {
    const blocks: string[] = []
    for (const manifest of acceptedManifests.filter((each) => each.kind === kind)) {
      const { code, body } = await tryCreate(server, manifest)
      const lines = [`${manifest.apiVersion} ${kind} → ${code}`, ...linesOf(body)].join('\n')
      const same = lines.replaceAll(addressOfService, '"ADDRESS"').replaceAll(tokenVolume, 'kube-api-access-SUFFIX')
      blocks.push(same.replaceAll(uuid, 'UID').replaceAll(server.namespace, 'NAMESPACE'))
    }
    await expect(`${blocks.join('\n')}\n`).toMatchFileSnapshot(answers(`accepted-${kind}`))
  })

  it.each([...new Set(refusedManifests.map(({ kind }) => kind))])('refuses a %s by the same fields', async (kind) => {
    const blocks: string[] = []
    for (const manifest of refusedManifests.filter((each) => each.kind === kind)) {
      const { code, body } = await tryCreate(server, manifest)
      const { causes = [] } = (body['details'] ?? {}) as { causes?: Array<{ field: string; reason: string }> }
      const found = new Set(causes.map(({ field, reason }) => `  ${field} ${reason}`))
      const shown = JSON.stringify(manifest).replaceAll(server.namespace, 'NAMESPACE')
      blocks.push(
        [shown.length > 400 ? `${shown.slice(0, 400)}…` : shown, `  ${code}`, ...[...found].sort()].join('\n'),
      )
    }
    await expect(`${blocks.join('\n')}\n`).toMatchFileSnapshot(answers(`refused-${kind}`))
  })
})
