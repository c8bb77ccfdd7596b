import { describe, expect, it } from 'vitest'
import type { Answer, ContractServer } from './contract-server.ts'
import { configMap, deployment } from './objects.ts'
import { onEachServer } from './on-each-server.ts'
import { type Step, scenarios } from './server-side-apply-scenarios.ts'

const applyType = { headers: { 'content-type': 'application/apply-patch+yaml' } }

onEachServer((server) => {
  describe('a manifest applied by the server', () => {
    // The answers were recorded from a real kube-apiserver (`vitest run --project kubernetes -u`) and hold for every
    // server.
    it.each(Object.entries(scenarios))('%s', async (name, steps) => {
      const lines: string[] = []
      for (const step of steps) lines.push(`${step.method} ${step.path}`, told(server, await send(server, step)))
      const file = `answers/server-side-apply/${name.replaceAll(/[^a-z]+/gi, '-').toLowerCase()}.txt`
      await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file)
    })

    it('warns of keys that are given twice', async () => {
      const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: "1"\n  x: "2"\n'
      const answer = await server.http('PATCH', `${server.path('configmaps/a')}?fieldManager=one`, body, applyType)
      expect(answer.code).toBe(201)
      expect(answer.headers['warning']).toBe('299 - "line 6: key \\"x\\" already set in map"')
      expect(answer.body['data']).toEqual({ x: '2' })
    })

    it('is refused when it does not fit the kind', async () => {
      const path = `${server.path('configmaps/a')}?fieldManager=one`
      const answer = await server.http('PATCH', path, { ...configMap('a'), dta: {} }, applyType)
      expect(answer.code).toBe(server.differs('unfit manifest') ? 400 : 500)
      expect(answer.body.message).toBe(
        'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dta: field not declared in schema',
      )
    })

    it('creates only for those who may create', async () => {
      const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['patch'] }]
      const group = 'rbac.authorization.k8s.io/v1'
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'patcher' }
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }]
      await server.ok('POST', server.path('roles', group), { metadata: { name: 'patcher' }, rules })
      await server.ok('POST', server.path('rolebindings', group), { metadata: { name: 'patcher' }, roleRef, subjects })
      const asAda = { headers: { ...applyType.headers, 'impersonate-user': 'ada' } }
      const path = `${server.path('configmaps/a')}?fieldManager=one`
      const refused = await server.http('PATCH', path, configMap('a'), asAda)
      expect([refused.code, refused.body.reason]).toEqual([403, 'Forbidden'])
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      expect((await server.http('PATCH', path, configMap('a', { data: { x: '1' } }), asAda)).code).toBe(200)
    })

    it('is not taken in CBOR', async () => {
      const cbor = { headers: { 'content-type': 'application/apply-patch+cbor' } }
      const answer = await server.http('PATCH', `${server.path('configmaps/a')}?fieldManager=one`, 'x', cbor)
      expect([answer.code, answer.body.reason]).toEqual([415, 'UnsupportedMediaType'])
    })

    it('is written only when it changes something', async () => {
      const path = `${server.path('deployments/d', 'apps/v1')}?fieldManager=one`
      const manifest = deployment('d', server.image)
      const first = await server.ok('PATCH', path, manifest, applyType)
      const second = await server.ok('PATCH', path, manifest, applyType)
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    })
  })

  describe('managers of updates', () => {
    it('are named by the program when the request does not name one', async () => {
      const headers = { 'user-agent': 'hand-written/1.0 (test)' }
      const created = await server.ok('POST', server.path('configmaps'), configMap('a', { data: { x: '1' } }), {
        headers,
      })
      expect(created.metadata['managedFields']).toMatchObject([{ manager: 'hand-written', operation: 'Update' }])
    })

    it('are ten at most: the oldest become one', async () => {
      await server.ok('POST', `${server.path('configmaps')}?fieldManager=m-0`, configMap('a', { data: { k: '0' } }))
      for (let count = 1; count <= 12; count += 1) {
        const path = `${server.path('configmaps/a')}?fieldManager=m-${String(count).padStart(2, '0')}`
        await server.patch(path, 'merge', { data: { [`k${count}`]: '1' } })
      }
      const { metadata } = await server.ok('GET', server.path('configmaps/a'))
      const names = (metadata['managedFields'] as Array<{ manager: string }>).map(({ manager }) => manager)
      expect(names).toHaveLength(10)
      expect(names).toContain('ancient-changes')
      expect(names).toContain('m-12')
    })

    it('are kept when a client replaces an object without them', async () => {
      await server.ok(
        'PATCH',
        `${server.path('configmaps/a')}?fieldManager=one`,
        configMap('a', { data: { x: '1' } }),
        applyType,
      )
      const replaced = await server.ok(
        'PUT',
        `${server.path('configmaps/a')}?fieldManager=two`,
        configMap('a', { data: { x: '1', y: '2' } }),
      )
      expect(withoutTimes(replaced.metadata['managedFields'])).toEqual([
        {
          manager: 'one',
          operation: 'Apply',
          apiVersion: 'v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { 'f:x': {} } },
        },
        {
          manager: 'two',
          operation: 'Update',
          apiVersion: 'v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { 'f:y': {} } },
        },
      ])
    })
  })

  describe('kubectl', () => {
    const owned = (x: string, more: Record<string, string> = {}) => configMap('a', { data: { x, ...more } })
    const managed = async () =>
      withoutTimes((await server.ok('GET', server.path('configmaps/a'))).metadata['managedFields'])

    it('applies by the server, prints conflicts, and forces them', async () => {
      expect(await server.kubectl('apply --server-side -f -', owned('1'))).toBe('configmap/a serverside-applied\n')
      await server.kubectl([
        'patch',
        'configmap',
        'a',
        '--field-manager=other',
        '--type=merge',
        '-p',
        '{"data":{"x":"7"}}',
      ])
      const refused = await server.kubectlRefused('apply --server-side -f -', owned('2'))
      expect(refused).toContain('Apply failed with 1 conflict: conflict with "other" using v1: .data.x\n')
      expect(refused).toContain('--force-conflicts')
      await server.kubectl('apply --server-side --force-conflicts -f -', owned('2'))
      expect(await server.kubectl('get configmap a -o jsonpath={.data.x}')).toBe('2')
      expect(await managed()).toMatchObject([{ manager: 'kubectl', operation: 'Apply' }])
    })

    it('shows what would change', async () => {
      await server.kubectl('apply --server-side -f -', owned('1'))
      const { code, stdout } = await server.tryKubectl('diff --server-side -f -', owned('2'))
      expect(code).toBe(1)
      expect(stdout).toContain('-  x: "1"\n+  x: "2"')
      expect((await server.tryKubectl('diff --server-side -f -', owned('1'))).code).toBe(0)
    })

    it('hides the managers unless asked', async () => {
      await server.kubectl('apply --server-side -f -', owned('1'))
      expect(await server.kubectl('get configmap a -o yaml')).not.toContain('managedFields')
      expect(await server.kubectl('get configmap a -o yaml --show-managed-fields')).toContain('managedFields')
    })

    it('goes from applying by itself to applying by the server, and back', async () => {
      await server.kubectl('apply -f -', owned('1', { y: '1' }))
      expect(await server.kubectl('apply --server-side -f -', owned('2', { z: '1' }))).toContain('serverside-applied')
      expect(await server.kubectl('get configmap a -o jsonpath={.data}')).toBe('{"x":"2","z":"1"}')
      const last = await server.kubectl('apply view-last-applied configmap a -o json')
      expect(JSON.parse(last)).toMatchObject({ data: { x: '2', z: '1' } })
      const managers = (await managed())?.map((entry) => (entry as { manager: string; operation: string }).manager)
      expect(managers?.toSorted()).toEqual(['kubectl', 'kubectl-last-applied'])
      await server.kubectl('apply -f -', owned('3'))
      expect(await server.kubectl('get configmap a -o jsonpath={.data}')).toBe('{"x":"3"}')
    })

    it('applies a Deployment and a Model', async () => {
      await server.kubectl('apply --server-side -f -', deployment('d', server.image))
      await server.kubectl('scale deployment d --replicas=5')
      const refused = await server.kubectlRefused('apply --server-side -f -', deployment('d', server.image))
      expect(refused).toContain('conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas')
      const model = { apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name: 'm' } }
      const spec = { url: 'pvc://userdata/models/m', engine: 'LlamaCpp' }
      await server.kubectl('apply --server-side -f -', { ...model, spec })
      const other = { ...model, spec: { engine: 'VLLM' } }
      expect(await server.kubectlRefused('apply --server-side --field-manager=other -f -', other)).toContain(
        'conflict with "kubectl": .spec.engine',
      )
    })
  })
})

function send(server: ContractServer, { method, group, path, type, body }: Step): Promise<Answer> {
  return server.http(
    method,
    server.path(path, group),
    body,
    type === undefined ? {} : { headers: { 'content-type': type } },
  )
}

/** The parts of an answer that do not depend on the server, the time or the namespace. */
function told(server: ContractServer, { code, body }: Answer): string {
  const { metadata, spec, status, data, message, reason, details } = body
  const shown =
    body.kind === 'Status'
      ? { message, reason, causes: inOrder((details as { causes?: unknown[] } | undefined)?.causes) }
      : { metadata: toldMetadata(metadata), data, spec: toldSpec(spec), status }
  const text = JSON.stringify(sorted(shown), undefined, 2).replaceAll(server.namespace, 'NAMESPACE')
  return `${code} ${text.replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-SUFFIX')}`
}

function toldMetadata({ name, labels, annotations, finalizers, managedFields }: Answer['body']['metadata']): unknown {
  return { name, labels, annotations, finalizers, managedFields: inOrder(withoutTimes(managedFields)) }
}

/** Addresses are assigned as they come. */
function toldSpec(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return spec
  const { clusterIP: _one, clusterIPs: _all, ...others } = spec as Record<string, unknown>
  return others
}

function withoutTimes(managedFields: unknown): unknown[] | undefined {
  if (!Array.isArray(managedFields)) return undefined
  return managedFields.map(({ time: _time, ...entry }: Record<string, unknown>) => entry)
}

/** Managers are sorted by time, and the causes of a conflict not at all. */
function inOrder(values: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return values
    ?.map((value) => ({ value, text: JSON.stringify(sorted(value)) }))
    .sort((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ value }) => value)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([field, inner]) => [field, sorted(inner)]))
}
