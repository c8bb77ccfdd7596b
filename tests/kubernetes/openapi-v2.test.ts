import { describe, expect, it } from 'vitest'
import { readOpenApiV2 } from '../../src/apiserver/discovery/openapi-v2-reader.fixture.ts'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition } from './widget-definition.ts'

const json = 'application/json'
const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
const olderProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

type Fields = Record<string, unknown>

interface Operation {
  readonly consumes: readonly string[]
  readonly parameters: readonly Fields[]
  readonly 'x-kubernetes-group-version-kind': Fields
}

interface Document {
  readonly definitions: Record<string, Fields & { readonly properties: Record<string, Fields> }>
  readonly paths: Record<string, Record<string, Operation>>
}

onEachServer((server) => {
  const ask = (accept: string, headers: Record<string, string> = {}) =>
    server.http('GET', '/openapi/v2', undefined, { headers: { accept, ...headers } })
  const widgets = new WidgetDefinition(server)
  const read = async () => readOpenApiV2((await ask(protobuf)).bytes) as Document

  describe('the OpenAPI v2 document', () => {
    it.each([
      [protobuf, protobuf],
      [olderProtobuf, protobuf],
      [`${olderProtobuf}, ${json}`, protobuf],
      [`${json};q=0.5, ${protobuf};q=0.9`, protobuf],
      [`${json}, ${protobuf}`, json],
      ['*/*', json],
      ['application/*', json],
    ])('comes to who takes %s as %s', async (accept, type) => {
      const { code, headers } = await ask(accept)
      expect([code, headers['content-type']]).toEqual([200, type])
    })

    it('is refused to who takes neither', async () => {
      expect((await ask('text/html')).code).toBe(406)
      expect((await ask(protobuf.replaceAll('v2', 'v3'))).code).toBe(406)
    })

    it('is the same in protobuf as in JSON', async () => {
      // Other tests define kinds at the same time.
      const [binary, text] = await askUntil(
        async () => [await ask(protobuf), await ask(json)] as const,
        ([one, other]) => one.headers['etag'] === other.headers['etag'],
      )
      // In protobuf, a missing number is zero.
      const expected = JSON.stringify(text.body).replaceAll(/"minimum":0,|,"minimum":0(?=\})/g, '')
      expect(readOpenApiV2(binary.bytes)).toEqual(JSON.parse(expected))
    })

    it('is not sent to who has it', async () => {
      const [first, again] = await askUntil(
        async () => {
          const got = await ask(protobuf)
          return [got, await ask(protobuf, { 'if-none-match': String(got.headers['etag']) })] as const
        },
        ([one, other]) => one.headers['etag'] === other.headers['etag'],
      )
      expect(first.headers['etag']).toMatch(/^"[0-9A-F]{128}"$/)
      expect([first.code, again.code, again.bytes.length]).toEqual([200, 304, 0])
      expect((await ask(protobuf, { 'if-none-match': '"another"' })).code).toBe(200)
    })

    it('says how lists are merged, and of which kind things are', async () => {
      const { definitions } = await read()
      expect(definitions['io.k8s.api.core.v1.PodSpec']?.properties['containers']).toMatchObject({
        type: 'array',
        items: { $ref: '#/definitions/io.k8s.api.core.v1.Container' },
        'x-kubernetes-patch-merge-key': 'name',
        'x-kubernetes-patch-strategy': 'merge',
      })
      expect(definitions['io.k8s.api.apps.v1.Deployment']?.['x-kubernetes-group-version-kind']).toEqual([
        { group: 'apps', kind: 'Deployment', version: 'v1' },
      ])
    })

    it('says that patches can be tried out and are checked', async () => {
      const { paths } = await read()
      for (const [path, kind, consumes] of [
        ['/api/v1/namespaces/{namespace}/pods/{name}', 'Pod', expect.arrayContaining(['application/merge-patch+json'])],
        [
          '/apis/sluice.dev/v1/namespaces/{namespace}/models/{name}',
          'Model',
          expect.not.arrayContaining(['application/strategic-merge-patch+json']),
        ],
      ] as const) {
        const patch = paths[path]?.['patch']
        expect(patch?.['x-kubernetes-group-version-kind']).toMatchObject({ kind, version: 'v1' })
        expect(patch?.consumes).toEqual(consumes)
        expect(patch?.parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation']))
      }
    })

    it('leaves out of a definition what its readers would misunderstand', async () => {
      const inner = { properties: { a: { type: 'string' } } }
      const fields: Record<string, [written: Fields, shown: Fields]> = {
        count: [
          { type: 'integer', default: 3, minimum: 1 },
          { type: 'integer', minimum: 1 },
        ],
        nullable: [{ type: 'object', nullable: true, ...inner }, {}],
        open: [
          { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...inner },
          { 'x-kubernetes-preserve-unknown-fields': true },
        ],
        either: [
          { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          { 'x-kubernetes-int-or-string': true },
        ],
        choice: [
          { type: 'string', enum: ['on', '1', 'a b', ''] },
          { type: 'string', enum: ['on', '1', 'a b', ''] },
        ],
        map: [
          { type: 'object', additionalProperties: { type: 'string' } },
          { type: 'object', additionalProperties: { type: 'string' } },
        ],
        anyMap: [
          { type: 'object', additionalProperties: true },
          { type: 'object', additionalProperties: true },
        ],
        list: [
          { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        ],
        one: [
          { type: 'object', oneOf: [{ required: ['a'] }], ...inner },
          { type: 'object', ...inner },
        ],
      }
      const written = Object.fromEntries(Object.entries(fields).map(([name, [schema]]) => [name, schema]))
      const shown = Object.fromEntries(Object.entries(fields).map(([name, [, schema]]) => [name, schema]))
      await widgets.serve(widgets.manifest(written))
      const name = `com.example.${server.namespace}.v1.Widget`
      const { definitions } = await askUntil(read, (document) => document.definitions[name] !== undefined)
      expect(definitions[name]?.properties['spec']).toEqual({ type: 'object', properties: shown })
      await server.ok('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${widgets.name}`)
      await askUntil(read, (document) => document.definitions[name] === undefined)
    })
  })

  describe('kubectl, by the OpenAPI v2 document,', () => {
    const explain = (field: string) => server.kubectl(`explain ${field} --output=plaintext-openapiv2`)

    it('explains fields', async () => {
      const spec = await explain('pods.spec')
      expect(spec).toMatch(/^KIND: +Pod\nVERSION: +v1\n\nRESOURCE: spec <Object>\n/)
      expect(spec).toMatch(/^ {3}containers\t<\[\]Object> -required-$/m)
      expect(spec).toMatch(/^ {3}nodeName\t<string>$/m)
      expect(await explain('model.spec.engine')).toMatch(/^FIELD: +engine <string>$/m)
      expect(await server.kubectlRefused('explain pods.spec.colour --output=plaintext-openapiv2')).toContain(
        'field "colour" does not exist',
      )
    })

    it('explains a kind that was defined just now', async () => {
      await widgets.serve(widgets.manifest({ colour: { type: 'string', description: 'how it looks' } }))
      const explained = await askUntil(
        () => server.tryKubectl(`explain widgets.spec --api-version=${widgets.group}/v1 --output=plaintext-openapiv2`),
        ({ code }) => code === 0,
      )
      expect(explained.stdout).toMatch(/^ {3}colour\t<string>\n {5}how it looks$/m)
      await server.ok('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${widgets.name}`)
    })

    it.each(['apply', 'create'])('says to %s that a kind is not there', async (command) => {
      const unknown = { apiVersion: 'example.com/v1', kind: 'Unknown', metadata: { name: 'a' } }
      const { code, stderr } = await server.tryKubectl(`${command} -f -`, unknown)
      expect(stderr).toContain('no matches for kind "Unknown" in version "example.com/v1"')
      expect(code).toBe(1)
    })
  })
})
