import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { finish } from '../writing/write-phases.ts'
import { ClusterDocuments } from './cluster-documents.ts'
import { jsonPieces } from './json-pieces.ts'
import * as openapi from './openapi.ts'

const kinds = [...coreKinds, ...customKinds]
type Kinds = typeof kinds

const openApiDocument = (of: Kinds, path: string) => finish(openapi.openApiDocument(of, path))
const openApiIndex = (of: Kinds, base: string) => finish(openapi.openApiIndex(of, base))
const openApiV2Document = (of: Kinds) => finish(openapi.openApiV2Document(of))

interface Document {
  readonly paths: Record<string, Record<string, { requestBody?: { content: object }; consumes?: string[] }>>
  readonly components: { schemas: Record<string, Schema> }
  readonly definitions: Record<string, Schema>
}

interface Schema {
  readonly properties?: Record<string, Record<string, unknown>>
  readonly [keyword: string]: unknown
}

function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : []
  return [...own, ...Object.values(value).flatMap(refsIn)]
}

function pathsOf(index: Record<string, unknown>): Record<string, { serverRelativeURL: string }> {
  return index['paths'] as Record<string, { serverRelativeURL: string }>
}

describe('the OpenAPI documents', () => {
  it.each(Object.keys(pathsOf(openApiIndex(kinds, ''))))('of %s hold everything they refer to', (path) => {
    const document = openApiDocument(kinds, path) as unknown as Document
    const known = new Set(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`))
    expect(refsIn(document).filter((ref) => !known.has(ref))).toEqual([])
  })

  it('of version 2 hold everything they refer to, in one', () => {
    const document = openApiV2Document(kinds) as unknown as Document
    const known = new Set(Object.keys(document.definitions).map((name) => `#/definitions/${name}`))
    expect(refsIn(document).filter((ref) => !known.has(ref))).toEqual([])
    expect(document.definitions['io.k8s.api.core.v1.PodSpec']?.properties?.['containers']).toMatchObject({
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    })
    expect(document.definitions['io.k8s.apimachinery.pkg.api.resource.Quantity']).toEqual({
      type: 'string',
      description: expect.stringMatching(/^Quantity is a fixed-point representation of a number\./),
    })
    expect(document.definitions['dev.sluice.v1.Model']).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: 'sluice.dev', version: 'v1', kind: 'Model' }],
    })
  })

  it('say nothing of their own about fields of kinds that others define, but for those that every object has', () => {
    const [first] = customKinds
    const odd = {
      type: 'object',
      properties: { constructor: { type: 'string' }, toString: { type: 'string' } },
    } as const
    const properties = { ...odd.properties, metadata: { type: 'object' }, spec: odd } as const
    const kind = { ...first, kind: 'Odd', fields: () => ({ type: 'object', properties }) as const } as (typeof kinds)[0]
    const { definitions } = openApiV2Document([...kinds, kind]) as unknown as Document
    expect(definitions['dev.sluice.v1.Odd']?.properties).toEqual({
      ...odd.properties,
      metadata: { type: 'object', description: expect.stringMatching(/^Standard object's metadata\./) },
      spec: odd,
    })
  })

  it('say which patches a kind takes, and that fields are checked', () => {
    const pods = openApiDocument(kinds, 'api/v1') as unknown as Document
    const models = openApiDocument(kinds, 'apis/sluice.dev/v1') as unknown as Document
    const patch = (document: Document, path: string) => document.paths[path]?.['patch']
    const pod = patch(pods, '/api/v1/namespaces/{namespace}/pods/{name}')
    expect(Object.keys(pod?.requestBody?.content ?? {})).toContain('application/strategic-merge-patch+json')
    expect(pod).toMatchObject({
      parameters: expect.arrayContaining([expect.objectContaining({ name: 'fieldValidation' })]),
    })
    const model = patch(models, '/apis/sluice.dev/v1/namespaces/{namespace}/models/{name}')
    expect(Object.keys(model?.requestBody?.content ?? {})).not.toContain('application/strategic-merge-patch+json')
  })

  it('only offer what can be done', () => {
    const { paths } = openApiDocument(kinds, 'apis/authorization.k8s.io/v1') as unknown as Document
    expect(Object.keys(paths['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'] ?? {})).toEqual(['post'])
    expect(paths['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/{name}']).toBeUndefined()
  })

  it('change their address exactly when they change', () => {
    const before = pathsOf(openApiIndex(kinds, '/vks/a'))
    expect(before['api/v1']?.serverRelativeURL).toMatch(/^\/vks\/a\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{64}$/)
    expect(pathsOf(openApiIndex([...kinds], '/vks/a'))).toEqual(before)
    const fewer = pathsOf(
      openApiIndex(
        kinds.filter(({ kind }) => kind !== 'Model'),
        '/vks/a',
      ),
    )
    expect(fewer['apis/sluice.dev/v1']).not.toEqual(before['apis/sluice.dev/v1'])
    expect(fewer['api/v1']).toEqual(before['api/v1'])
  })

  it('are written in many pieces, which are together what is written at once', () => {
    for (const document of [openApiV2Document(kinds), openApiDocument(kinds, 'apis/sluice.dev/v1') ?? {}, {}]) {
      const pieces: string[] = []
      finish(jsonPieces(document, (text) => pieces.push(text)))
      expect(pieces.join('')).toBe(JSON.stringify(document))
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000)
    }
  })

  it('are made once for all who ask at once', async () => {
    const api = { kinds: { list: () => kinds } } as unknown as ClusterApi
    const documents = new ClusterDocuments(api, '', undefined)
    const ask = (...path: string[]) => documents.find({ headers: {} } as IncomingMessage, ['openapi', ...path])
    for (const path of [['v2'], ['v3'], ['v3', 'api', 'v1']]) {
      const [one, other] = await Promise.all([ask(...path), ask(...path)])
      expect(one).toBeDefined()
      expect(one).toBe(other)
    }
    expect(await ask('v3', 'apis', 'nothing', 'v1')).toBeUndefined()
    expect(await ask('v4')).toBeUndefined()
  })

  it('are not there for groups that are not', () => {
    expect(openApiDocument(kinds, 'apis/nothing/v1')).toBeUndefined()
  })
})
