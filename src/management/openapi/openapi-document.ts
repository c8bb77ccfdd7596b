import { z } from 'zod'
import { type ErrorCode, SluiceError } from '../../foundation/errors.ts'
import { clusterIdPattern } from '../../resources/cluster.ts'
import { clusterDetailSchema, computeCenterSchema, failureSchema, successOf, usageSchema } from './answer-schemas.ts'

type Json = Readonly<Record<string, unknown>>

/** Errors that any request may get, before its route is known. */
const always: readonly ErrorCode[] = ['invalid_http', 'request_timeout', 'head_too_large', 'internal_error']
const keyPair: readonly ErrorCode[] = ['credential_refused', 'key_disabled', 'too_many_attempts']

let written: string | undefined

/** Created at the first request. */
export function openApiText(): string {
  return (written ??= JSON.stringify(openApiDocument()))
}

/** The management API as an OpenAPI 3.1 document. A test compares it with the routes and their answers. */
export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice management API',
      version: 'v1',
      description:
        'Clusters and compute centers of an enterprise. Every answer but a probe’s is an envelope with `code`.',
    },
    paths: {
      '/api/vks/v1/{id}': { get: clusterDetail() },
      '/api/vks/v1/{id}/usage': { get: usage() },
      '/api/aidc/v1/list': { get: computeCenters() },
      '/openapi.json': { get: openApi() },
      '/healthz': { get: probe('Whether the server lives.', []) },
      '/readyz': { get: probe('Whether it can answer.', [503]) },
      '/metrics': { get: metrics() },
    },
    components: {
      schemas: { Failure: schemaOf(failureSchema) },
      securitySchemes: {
        keyPair: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: '`plain Credential=<ACCESS_KEY>,Signature=<SECRET_KEY>`, the key pair of the enterprise.',
        },
      },
    },
  }
}

const clusterId = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The cluster ID.',
  schema: { type: 'string', pattern: clusterIdPattern.source },
}

function clusterDetail(): Json {
  return {
    operationId: 'getCluster',
    summary: 'Detail and resource use of a cluster.',
    security: [{ keyPair: [] }],
    parameters: [clusterId],
    responses: {
      ...answered('The cluster.', 'application/json', schemaOf(successOf(clusterDetailSchema))),
      ...refusals([...always, ...keyPair, 'cluster_id_malformed', 'cluster_not_found']),
    },
  }
}

function usage(): Json {
  const day = { type: 'string', format: 'date' }
  const name = { type: 'string', minLength: 1, maxLength: 253 }
  const asked = (parameter: string, description: string, schema: Json) => ({
    name: parameter,
    in: 'query',
    description,
    schema,
  })
  return {
    operationId: 'getUsage',
    summary: 'What the models of a cluster were used for: requests, tokens, cards, and what sleeping saved.',
    security: [{ keyPair: [] }],
    parameters: [
      clusterId,
      asked('since', 'The first day (UTC); by default 29 days ago.', day),
      asked('until', 'The last day (UTC); by default today.', day),
      asked('by', 'What rows are told apart by: some of day, model, key, with commas. By default day.', {
        type: 'string',
      }),
      asked('model', 'Only what this model answered.', name),
      asked('key', 'Only what was asked with the ApiKey of this name.', name),
    ],
    responses: {
      ...answered('The figures.', 'application/json', schemaOf(successOf(usageSchema))),
      ...refusals([...always, ...keyPair, 'cluster_id_malformed', 'usage_question_malformed', 'cluster_not_found']),
    },
  }
}

function computeCenters(): Json {
  return {
    operationId: 'listComputeCenters',
    summary: 'The compute centers of the enterprise.',
    security: [{ keyPair: [] }],
    responses: {
      ...answered('The centers.', 'application/json', schemaOf(successOf(z.array(computeCenterSchema)))),
      ...refusals([...always, ...keyPair, 'management_route_not_found']),
    },
  }
}

function metrics(): Json {
  return {
    operationId: 'getMetrics',
    summary: 'The numbers of this installation, for Prometheus.',
    security: [{ keyPair: [] }],
    responses: {
      ...answered('The numbers.', 'text/plain', { type: 'string' }),
      ...refusals([...always, ...keyPair]),
    },
  }
}

function openApi(): Json {
  return {
    operationId: 'getOpenApi',
    summary: 'This document.',
    security: [],
    responses: { ...answered('The document.', 'application/json', { type: 'object' }), ...refusals(always) },
  }
}

function probe(summary: string, failing: readonly number[]): Json {
  const plain = { 'text/plain': { schema: { type: 'string' } } }
  return {
    summary,
    security: [],
    responses: {
      ...answered('It does.', 'text/plain', { type: 'string' }),
      ...refusals(always),
      ...Object.fromEntries(failing.map((status) => [status, { description: 'It does not.', content: plain }])),
    },
  }
}

function answered(description: string, contentType: string, schema: Json): Json {
  return { 200: { description, content: { [contentType]: { schema } } } }
}

/** Groups the errors by status, and lists them in the description of its response. */
function refusals(codes: readonly ErrorCode[]): Json {
  const byStatus = Map.groupBy(codes, (code) => new SluiceError(code).status)
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      const headers = group.includes('too_many_attempts')
        ? { headers: { 'Retry-After': { schema: { type: 'integer', minimum: 1 } } } }
        : {}
      return [status, { description: group.join(', '), content, ...headers }]
    }),
  )
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema)
  return rest
}
