import { createHash } from 'node:crypto'
import type { Kind } from '../../resources/kind.ts'
import type { Phases } from '../writing/write-phases.ts'
import { verbsOf } from './discovery.ts'
import { jsonPieces } from './json-pieces.ts'
import {
  type Dialect,
  type JsonSchema,
  SchemaCollection,
  groupPath,
  groupVersionKind,
  schemaRef,
} from './openapi-schemas.ts'

const info = { title: 'Kubernetes', version: 'v1.34.0+sluice' }
const patchType = 'io.k8s.apimachinery.pkg.apis.meta.v1.Patch'
const deleteOptionsType = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'
const statusType = 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'

/** Kept with the kinds they are about: a kind that changes is another object. */
const hashes = new WeakMap<Kind, { readonly served: readonly Kind[]; readonly hash: string }>()

/** `/openapi/v3`: where the document of each group-version is. The hash in each address lets clients cache it. */
export function* openApiIndex(kinds: readonly Kind[], base: string): Phases<JsonSchema> {
  const paths: Array<[string, unknown]> = []
  for (const path of [...new Set(kinds.map((kind) => groupPath(kind)))].sort()) {
    const hash = yield* hashOf(kinds, path)
    paths.push([path, { serverRelativeURL: `${base}/openapi/v3/${path}?hash=${hash}` }])
  }
  return { paths: Object.fromEntries(paths) }
}

/** `/openapi/v3/<path>` */
export function* openApiDocument(kinds: readonly Kind[], path: string): Phases<JsonSchema | undefined> {
  const served = kinds.filter((kind) => groupPath(kind) === path)
  if (served.length === 0) return undefined
  const collection = new SchemaCollection('v3')
  const paths = yield* pathsOfAll(served, 'v3', collection)
  return {
    openapi: '3.0.0',
    info,
    paths: Object.fromEntries(paths),
    components: { schemas: sorted(collection.schemas) },
  }
}

/** `/openapi/v2`: everything in one document. */
export function* openApiV2Document(kinds: readonly Kind[]): Phases<JsonSchema> {
  const collection = new SchemaCollection('v2')
  const paths = yield* pathsOfAll(kinds, 'v2', collection)
  return {
    swagger: '2.0',
    info,
    paths: Object.fromEntries(paths),
    definitions: sorted(collection.schemas),
    securityDefinitions: {
      BearerToken: {
        description: 'Bearer Token authentication',
        type: 'apiKey',
        name: 'authorization',
        in: 'header',
      },
    },
    security: [{ BearerToken: [] }],
  }
}

function* hashOf(kinds: readonly Kind[], path: string): Phases<string> {
  const served = kinds.filter((kind) => groupPath(kind) === path)
  const [first] = served
  const known = first && hashes.get(first)
  if (known?.served.length === served.length && known.served.every((kind, index) => kind === served[index])) {
    return known.hash
  }
  const digest = createHash('sha256')
  const document = yield* openApiDocument(served, path)
  yield* jsonPieces(document ?? {}, (text) => void digest.update(text))
  const hash = digest.digest('hex').toUpperCase()
  if (first) hashes.set(first, { served, hash })
  return hash
}

interface Operation {
  readonly method: string
  readonly action: string
  readonly verb: string
}

const onCollections: readonly Operation[] = [
  { method: 'get', action: 'list', verb: 'list' },
  { method: 'post', action: 'post', verb: 'create' },
  { method: 'delete', action: 'deletecollection', verb: 'deletecollection' },
]
const onObjects: readonly Operation[] = [
  { method: 'get', action: 'get', verb: 'get' },
  { method: 'put', action: 'put', verb: 'update' },
  { method: 'delete', action: 'delete', verb: 'delete' },
  { method: 'patch', action: 'patch', verb: 'patch' },
]

/** A phase for each kind, since definitions may have very many fields. */
function* pathsOfAll(
  kinds: readonly Kind[],
  dialect: Dialect,
  collection: SchemaCollection,
): Phases<Array<[string, unknown]>> {
  const paths: Array<[string, unknown]> = []
  for (const kind of kinds) {
    paths.push(...pathsOf(kind, dialect, collection))
    yield
  }
  return paths
}

function pathsOf(kind: Kind, dialect: Dialect, collection: SchemaCollection): Array<[string, unknown]> {
  const allowed: readonly string[] = verbsOf(kind)
  const name = collection.addKind(kind, allowed.includes('list'))
  for (const type of [patchType, deleteOptionsType, statusType]) collection.refTo(type)
  const describe = (operations: readonly Operation[]) =>
    Object.fromEntries(
      operations
        .filter(({ verb }) => allowed.includes(verb))
        .map((operation) => [operation.method, describeOperation(kind, name, operation, dialect)]),
    )
  const base = `/${groupPath(kind)}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}`
  const place = kind.namespaced ? ['namespace'] : []
  const paths: Array<[string, readonly Operation[], readonly string[]]> = [
    [base, onCollections, place],
    [`${base}/{name}`, onObjects, [...place, 'name']],
  ]
  return paths.flatMap(([path, operations, names]) => {
    const item = describe(operations)
    if (Object.keys(item).length === 0) return []
    return [[path, { ...item, ...parametersOf(names.map((parameter) => pathParameter(parameter, dialect))) }]]
  })
}

/** Leaves out an empty list of parameters. */
function parametersOf(parameters: readonly JsonSchema[]): { parameters?: readonly JsonSchema[] } {
  return parameters.length > 0 ? { parameters } : {}
}

function describeOperation(kind: Kind, name: string, { method, action }: Operation, dialect: Dialect): JsonSchema {
  const answer = schemaRef(dialect, action === 'list' ? `${name}List` : action.startsWith('delete') ? statusType : name)
  const isWrite = method === 'post' || method === 'put' || method === 'patch'
  const parameters = isWrite
    ? ['dryRun', 'fieldManager', 'fieldValidation', ...(method === 'patch' ? ['force'] : [])]
    : []
  const query = parameters.map((parameter) => queryParameter(parameter, dialect))
  const mediaTypes = method === 'patch' ? patchTypesOf(kind) : ['application/json']
  const body = schemaRef(dialect, method === 'patch' ? patchType : name)
  const common = {
    operationId: `${action}${kind.group}${kind.version}${kind.namespaced ? 'Namespaced' : ''}${kind.kind}`,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': groupVersionKind(kind),
  }
  if (dialect === 'v2') {
    const bodyParameter = { name: 'body', in: 'body', required: true, schema: body }
    return {
      ...common,
      consumes: isWrite ? mediaTypes : ['*/*'],
      produces: ['application/json'],
      ...parametersOf([...(isWrite ? [bodyParameter] : []), ...query]),
      responses: { 200: { description: 'OK', schema: answer } },
    }
  }
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: body }]))
  return {
    ...common,
    ...parametersOf(query),
    ...(isWrite && { requestBody: { required: true, content } }),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: answer } } } },
  }
}

/** Kinds that are not Kubernetes' own have no merge keys, and so no strategic merge patch. */
function patchTypesOf(kind: Kind): string[] {
  const strategic = kind.origin === 'core' ? ['application/strategic-merge-patch+json'] : []
  return ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json', ...strategic]
}

function queryParameter(name: string, dialect: Dialect): JsonSchema {
  const schema = { type: name === 'force' ? 'boolean' : 'string', uniqueItems: true }
  return dialect === 'v2' ? { name, in: 'query', ...schema } : { name, in: 'query', schema }
}

function pathParameter(name: string, dialect: Dialect): JsonSchema {
  const schema = { type: 'string', uniqueItems: true }
  const parameter = { name, in: 'path', required: true }
  return dialect === 'v2' ? { ...parameter, ...schema } : { ...parameter, schema }
}

function sorted(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1)))
}
