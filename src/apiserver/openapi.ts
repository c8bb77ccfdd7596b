import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Kind, apiVersionOf } from '../resources/kind.ts'

const queryParameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}))

/** `/openapi/v3`: where the document of each group-version is. The hash lets clients keep what they have. */
export function openApiIndex(kinds: readonly Kind[], base: string): Record<string, unknown> {
  const paths = groupPaths(kinds).map((path): [string, unknown] => {
    const hash = createHash('sha256')
      .update(JSON.stringify(openApiDocument(kinds, path)))
      .digest('hex')
    return [path, { serverRelativeURL: `${base}/openapi/v3/${path}?hash=${hash}` }]
  })
  return { paths: Object.fromEntries(paths) }
}

/** `/openapi/v3/<path>`: enough for kubectl to learn that the server validates fields itself, and what our kinds look like. */
export function openApiDocument(kinds: readonly Kind[], path: string): Record<string, unknown> | undefined {
  const served = kinds.filter((kind) => groupPath(kind) === path)
  if (served.length === 0) return undefined
  return {
    openapi: '3.0.0',
    info: { title: 'Sluice', version: 'v1.34.0' },
    paths: Object.fromEntries(served.flatMap((kind) => pathsOf(kind))),
    components: { schemas: Object.fromEntries(served.map((kind) => [schemaName(kind), schemaOf(kind)])) },
  }
}

/** `/openapi/v2`: without definitions, so that clients use what they know themselves about Kubernetes' own kinds. */
export function openApiV2(): Record<string, unknown> {
  return { swagger: '2.0', info: { title: 'Sluice', version: 'v1.34.0' }, paths: {}, definitions: {} }
}

function pathsOf(kind: Kind): Array<[string, unknown]> {
  const collection = `/${groupPath(kind)}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}`
  return [
    [collection, { get: operation(kind, 'list'), post: writing(kind, 'post', ['application/json']) }],
    [
      `${collection}/{name}`,
      {
        get: operation(kind, 'get'),
        put: writing(kind, 'put', ['application/json']),
        delete: operation(kind, 'delete'),
        patch: writing(kind, 'patch', ['application/json-patch+json', 'application/merge-patch+json']),
      },
    ],
  ]
}

function operation(kind: Kind, action: string): Record<string, unknown> {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schemaName(kind)}` } } }
  return {
    operationId: `${action}${kind.kind}`,
    responses: { 200: { description: 'OK', content } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': groupVersionKind(kind),
  }
}

function writing(kind: Kind, action: string, mediaTypes: readonly string[]): Record<string, unknown> {
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: { type: 'object' } }]))
  return { ...operation(kind, action), parameters: queryParameters, requestBody: { required: true, content } }
}

/** The full shape of our kinds; of Kubernetes' own only that they are objects, since their schema lists only what is used here. */
function schemaOf(kind: Kind): Record<string, unknown> {
  const mark = { 'x-kubernetes-group-version-kind': [groupVersionKind(kind)] }
  if (kind.unknownFields === 'keep') {
    return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...mark }
  }
  const schema = z.toJSONSchema(kind.schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' })
  return { ...schema, ...mark }
}

function groupVersionKind(kind: Kind): Record<string, string> {
  return { group: kind.group, version: kind.version, kind: kind.kind }
}

function schemaName(kind: Kind): string {
  const reversed = kind.group === '' ? 'io.k8s.api.core' : kind.group.split('.').toReversed().join('.')
  return `${reversed}.${kind.version}.${kind.kind}`
}

function groupPath(kind: Kind): string {
  return `${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`
}

function groupPaths(kinds: readonly Kind[]): string[] {
  return [...new Set(kinds.map((kind) => groupPath(kind)))].sort()
}
