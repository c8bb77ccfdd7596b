import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition, causesOf, definitionsPath, schemaOf } from './widget-definition.ts'

const text = { type: 'string' }
const count = { type: 'integer' }

onEachServer((server) => {
  const definition = new WidgetDefinition(server)
  const widget = definition.widget.bind(definition)
  const path = definition.path.bind(definition)

  describe('a custom kind', () => {
    it('is served as soon as it is defined, and says so', async () => {
      const names = { shortNames: ['wd'], categories: ['toys'] }
      await definition.serve(definition.manifest({ a: text }, {}, {}, names))
      const defined = await server.ok('GET', `${definitionsPath}/${definition.name}`)
      expect(defined['spec']).toMatchObject({
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        conversion: { strategy: 'None' },
      })
      expect(defined['status']).toMatchObject({
        acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', ...names },
        storedVersions: ['v1'],
        conditions: [
          { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts' },
          { type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
        ],
      })
      const resources = await server.ok('GET', `/apis/${definition.group}/v1`)
      expect(resources['resources']).toMatchObject([
        { name: 'widgets', singularName: 'widget', kind: 'Widget', ...names },
      ])
      await server.kubectl('apply -f -', widget('one', { spec: { a: '1' } }))
      expect(await server.kubectl(`get wd.v1.${definition.group} one -o jsonpath={.spec}`)).toBe('{"a":"1"}')
      expect(await server.kubectl('get toys -o name')).toBe(`widget.${definition.group}/one\n`)
    })

    it('loses what its schema does not know, and keeps what is free', async () => {
      const free = {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { known: { type: 'object' } },
      }
      const embedded = {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      }
      const labels = { type: 'object', additionalProperties: text }
      await definition.serve(definition.manifest({ a: text, free, embedded, labels }))
      const spec = {
        a: '1',
        b: 2,
        free: { any: { thing: [1] }, known: { x: 1 } },
        embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', colour: 'red' }, spec: { anything: true } },
        labels: { x: 'y' },
      }
      const created = await server.ok('POST', path(), widget('one', { spec, further: 1 }))
      expect(created).not.toHaveProperty('further')
      expect(created['spec']).toEqual({
        a: '1',
        free: { any: { thing: [1] }, known: {} },
        embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { anything: true } },
        labels: { x: 'y' },
      })
    })

    it('is warned of unknown and doubled fields, or refused for them', async () => {
      await definition.serve(
        definition.manifest({ a: text, list: { type: 'array', items: { type: 'object', properties: { k: text } } } }),
      )
      const body = JSON.stringify(widget('one', { spec: { a: '1', z: 1, list: [{ k: 'x', q: 1 }] } })).replace(
        '"a":"1"',
        '"a":"0","a":"1"',
      )
      const warned = await server.http('POST', `${path()}?dryRun=All`, body)
      expect(warned.code).toBe(201)
      const warnings = String(warned.headers['warning'])
      for (const words of [
        'unknown field \\"spec.z\\"',
        'unknown field \\"spec.list[0].q\\"',
        'duplicate field \\"spec.a\\"',
      ]) {
        expect(warnings).toContain(words)
      }
      const refused = await server.http('POST', `${path()}?fieldValidation=Strict`, body)
      expect([refused.code, refused.body.reason]).toEqual([400, 'BadRequest'])
      expect(refused.body.message).toContain(
        'strict decoding error: duplicate field "spec.a", unknown field "spec.list[0].q", unknown field "spec.z"',
      )
    })

    it('is refused for what a patch made of it', async () => {
      await definition.serve(definition.manifest({ a: text }))
      await server.ok('POST', path(), widget('one', { spec: { a: '1' } }))
      const patched = async (patch: unknown) => {
        const answer = await server.patch(`${path('/one')}?fieldValidation=Strict`, 'merge', patch)
        expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
        return causesOf(answer.body).map((cause) => cause.replace(/Invalid value: ".*": /, ''))
      }
      expect(await patched({ spec: { z: 1 } })).toEqual([
        'patch FieldValueInvalid strict decoding error: unknown field "spec.z"',
      ])
      expect(await patched('{"spec":{"a":"0","a":"1"}}')).toEqual([
        'patch FieldValueInvalid strict decoding error: duplicate field "spec.a"',
      ])
      expect(await patched({ metadata: { labels: { a: 1 } } })).toEqual([
        'patch FieldValueInvalid json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
      ])
      expect(await patched({ kind: 'Gadget' })).toEqual(['kind FieldValueInvalid must be Widget'])
      expect(await patched({ apiVersion: 'example.com/v9' })).toEqual([
        `apiVersion FieldValueInvalid must be ${definition.group}/v1`,
      ])
    })

    it('gets its defaults, again when they change', async () => {
      const properties = {
        a: { ...text, default: 'A' },
        nested: { type: 'object', default: {}, properties: { n: { ...count, default: 3 } } },
        list: { type: 'array', items: { type: 'object', properties: { k: { ...text, default: 'K' } } } },
        none: { ...text, nullable: true },
      }
      await definition.serve(definition.manifest(properties))
      const created = await server.ok('POST', path(), widget('one', { spec: { a: null, list: [{}], none: null } }))
      const spec = { a: 'A', nested: { n: 3 }, list: [{ k: 'K' }], none: null }
      expect(created['spec']).toEqual(spec)
      await definition.change(versionPatch({ ...properties, later: { ...text, default: 'L' } }))
      const later = await askUntil(
        () => server.ok('GET', path('/one')),
        ({ spec: seen }) => Object.hasOwn(seen as object, 'later'),
      )
      expect(later['spec']).toEqual({ ...spec, later: 'L' })
    })

    it('is a plain object without status and scale of its own, unless it has them', async () => {
      await definition.serve(
        definition.manifest(
          { a: text },
          schemaOf({
            spec: { type: 'object', properties: { a: text } },
            status: { type: 'object', properties: { s: text } },
          }),
        ),
      )
      const created = await server.ok('POST', path(), widget('one', { spec: { a: '1' }, status: { s: 'x' } }))
      expect(created).toMatchObject({ metadata: { generation: 1 }, status: { s: 'x' } })
      const changed = await server.patch(path('/one'), 'merge', { status: { s: 'y' } })
      expect(changed.body).toMatchObject({ metadata: { generation: 2 }, status: { s: 'y' } })
      for (const subresource of ['status', 'scale']) {
        expect((await server.http('GET', path(`/one/${subresource}`))).code).toBe(404)
      }
    })

    it('has a status and a scale', async () => {
      const properties = {
        spec: { type: 'object', properties: { replicas: count, a: text } },
        status: { type: 'object', properties: { replicas: count, selector: text } },
      }
      const scale = {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      }
      await definition.serve(definition.manifest({}, { ...schemaOf(properties), subresources: { status: {}, scale } }))
      const created = await server.ok('POST', path(), widget('one', { spec: { a: '1' }, status: { replicas: 9 } }))
      expect(created).not.toHaveProperty('status')
      const missing = await server.http('GET', path('/one/scale'))
      expect([missing.code, missing.body.message]).toEqual([
        500,
        'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
      ])
      await server.patch(path('/one/scale'), 'merge', { spec: { replicas: 2 } })
      const status = await server.patch(path('/one/status'), 'merge', {
        status: { replicas: 1, selector: 'a=b' },
        spec: { a: '2' },
      })
      expect(status.body).toMatchObject({ metadata: { generation: 2 }, spec: { a: '1', replicas: 2 } })
      expect(await server.ok('GET', path('/one/scale'))).toMatchObject({
        kind: 'Scale',
        spec: { replicas: 2 },
        status: { replicas: 1, selector: 'a=b' },
      })
      await server.kubectl(`scale --replicas=5 widgets.${definition.group}/one`)
      expect(await server.ok('GET', path('/one'))).toMatchObject({ spec: { replicas: 5 } })
    })

    it('is shown in columns of its own', async () => {
      const list = { type: 'array', items: { type: 'object', properties: { k: text, v: text } } }
      const columns = [
        { name: 'Text', type: 'string', jsonPath: '.spec.a' },
        { name: 'Count', type: 'integer', jsonPath: '.spec.n' },
        { name: 'Wrong', type: 'integer', jsonPath: '.spec.a' },
        { name: 'Missing', type: 'string', jsonPath: '.spec.missing' },
        { name: 'Label', type: 'string', jsonPath: '.metadata.labels.a\\.b/c' },
        { name: 'Object', type: 'string', jsonPath: '.spec.list[0]' },
        { name: 'All', type: 'string', jsonPath: '.spec.list[*].k' },
        { name: 'Filter', type: 'string', jsonPath: '.spec.list[?(@.k=="y")].v' },
        { name: 'Last', type: 'string', jsonPath: '.spec.list[-1].k' },
        { name: 'Wide', type: 'boolean', jsonPath: '.spec.flag', priority: 1, description: 'Whether it is.' },
      ]
      await definition.serve(
        definition.manifest(
          { a: text, n: count, list, flag: { type: 'boolean' } },
          { additionalPrinterColumns: columns },
        ),
      )
      const spec = {
        a: 'A',
        n: 7,
        flag: true,
        list: [
          { k: 'x', v: '1' },
          { k: 'y', v: '2' },
        ],
      }
      await server.ok('POST', path(), {
        ...widget('one', { spec }),
        metadata: { name: 'one', labels: { 'a.b/c': 'label' } },
      })
      const table = await server.ok('GET', path(), undefined, {
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      })
      const { columnDefinitions, rows } = table as unknown as {
        columnDefinitions: Array<Record<string, unknown>>
        rows: Array<{ cells: unknown[] }>
      }
      expect(rows[0]?.cells).toEqual(['one', 'A', 7, null, null, 'label', '{"k":"x","v":"1"}', 'x', '2', 'y', true])
      expect(columnDefinitions.slice(1).map(({ name, type, priority }) => [name, type, priority])).toEqual(
        columns.map(({ name, type, priority = 0 }) => [name, type, priority]),
      )
      expect(columnDefinitions[1]?.['description']).toBe(
        'Custom resource definition column (in JSONPath format): .spec.a',
      )
      expect(columnDefinitions.at(-1)?.['description']).toBe('Whether it is.')
      expect(await server.kubectl(`get widgets.${definition.group}`)).toMatch(
        /^NAME +TEXT +COUNT +WRONG +MISSING +LABEL +OBJECT +ALL +FILTER +LAST\none +A +7 +label +/,
      )
    })

    it('shows its age when it says nothing', async () => {
      await definition.serve(definition.manifest({}))
      await server.ok('POST', path(), widget('one'))
      expect(await server.kubectl(`get widgets.${definition.group}`)).toMatch(/^NAME +AGE\none +\d+s\n$/)
    })
  })

  describe('versions of a custom kind', () => {
    const v2 = {
      name: 'v2',
      served: true,
      storage: false,
      ...schemaOf({ spec: { type: 'object', properties: { a: text, b: { ...text, default: 'B' } } } }),
    }

    async function serveBoth(first: Record<string, unknown> = {}, second: Record<string, unknown> = {}): Promise<void> {
      const manifest = definition.manifest({ a: { ...text, default: 'A' } }, first)
      const spec = manifest['spec'] as { versions: unknown[] }
      await definition.serve({ ...manifest, spec: { ...spec, versions: [...spec.versions, { ...v2, ...second }] } })
      await definition.untilAnswered(path('', 'v2'), 200)
    }

    it('are faces of the same objects, which keep what the stored version knows', async () => {
      await serveBoth()
      const created = await server.ok('POST', path('', 'v2'), widget('one', { spec: { b: 'x' } }, 'v2'))
      expect(created).toMatchObject({ apiVersion: `${definition.group}/v2`, spec: { a: 'A' } })
      expect(await server.ok('GET', path('/one'))).toMatchObject({
        apiVersion: `${definition.group}/v1`,
        spec: { a: 'A' },
      })
      const both = await server.ok('GET', path('', 'v2'))
      expect(both.items.map(({ apiVersion, metadata }) => [apiVersion, metadata.name])).toEqual([
        [`${definition.group}/v2`, 'one'],
      ])
      const group = await server.ok('GET', `/apis/${definition.group}`)
      expect(group).toMatchObject({ preferredVersion: { version: 'v2' } })
    })

    it('are watched each in its own', async () => {
      await serveBoth()
      const watch = await server.watch(`${path('', 'v2')}?watch=true`)
      await server.ok('POST', path(), widget('one'))
      expect(await watch.next()).toMatchObject({
        type: 'ADDED',
        object: { apiVersion: `${definition.group}/v2`, metadata: { name: 'one' } },
      })
      watch.stop()
    })

    it('warn when they are deprecated', async () => {
      await serveBoth({ deprecated: true })
      const warning = `${definition.group}/v1 Widget is deprecated; use ${definition.group}/v2 Widget`
      const answer = await server.http('GET', path())
      expect(String(answer.headers['warning'])).toBe(`299 - "${warning}"`)
      expect((await server.http('GET', path('', 'v2'))).headers['warning']).toBeUndefined()
    })

    it('are not served when they are not to be', async () => {
      await serveBoth()
      await definition.change({
        spec: { versions: [...versionsOf(definition.manifest({ a: text })), { ...v2, served: false }] },
      })
      await definition.untilAnswered(path('', 'v2'), 404)
      expect(await definition.untilAnswered(path(), 200)).toMatchObject({ items: [] })
    })

    it('must stay as long as objects may be kept in them', async () => {
      await serveBoth()
      const moved = await definition.change({
        spec: {
          versions: [...versionsOf(definition.manifest({ a: text }, { storage: false })), { ...v2, storage: true }],
        },
      })
      expect(moved['status']).toMatchObject({ storedVersions: ['v1', 'v2'] })
      const refused = await definition.change({ spec: { versions: [{ ...v2, storage: true }] } })
      expect(causesOf(refused)).toEqual([
        expect.stringMatching(
          /^status\.storedVersions\[0\] FieldValueInvalid Invalid value: "v1": missing from spec\.versions/,
        ),
      ])
    })
  })

  describe('the end of a definition', () => {
    it('takes its objects with it, and ends their watches', async () => {
      await definition.serve(definition.manifest({}))
      await server.ok('POST', path(), widget('one'))
      const watch = await server.watch(`${path()}?watch=true`)
      expect(await watch.next()).toMatchObject({ type: 'ADDED' })
      await server.kubectl(`delete crd ${definition.name}`)
      expect((await server.http('GET', `${definitionsPath}/${definition.name}`)).code).toBe(404)
      await definition.untilAnswered(path(), 404)
      const types: string[] = []
      for (
        let event = await watch.next().catch(() => undefined);
        event;
        event = await watch.next().catch(() => undefined)
      )
        types.push(event.type)
      expect(types).toContain('DELETED')
      await definition.serve(definition.manifest({}))
      expect((await server.ok('GET', path())).items).toEqual([])
    })

    it('waits for what holds its objects, and lets no new ones in', async () => {
      await definition.serve(definition.manifest({ a: text }))
      await server.ok('POST', path(), {
        ...widget('held'),
        metadata: { name: 'held', finalizers: ['example.com/hold'] },
      })
      const { body } = await server.http('DELETE', `${definitionsPath}/${definition.name}`)
      expect(body.metadata['finalizers']).toEqual(['customresourcecleanup.apiextensions.k8s.io'])
      const held = await askUntil(
        () => server.ok('GET', path('/held')),
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      )
      expect(held.metadata['finalizers']).toEqual(['example.com/hold'])
      const terminating = await server.ok('GET', `${definitionsPath}/${definition.name}`)
      expect(terminating['status']).toMatchObject({
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Terminating', status: 'True' })]),
      })
      const refused = await askUntil(
        () => server.http('POST', path(), widget('late')),
        ({ code }) => code !== 201,
      )
      const why = 'create not allowed while custom resource definition is terminating'
      expect([refused.code, refused.body.message]).toEqual([403, `${definition.name} "late" is forbidden: ${why}`])
      await server.patch(path('/held'), 'merge', { metadata: { finalizers: null } })
      await definition.untilAnswered(`${definitionsPath}/${definition.name}`, 404)
    })
  })
})

function versionsOf(manifest: Record<string, unknown>): unknown[] {
  return (manifest['spec'] as { versions: unknown[] }).versions
}

function versionPatch(properties: Record<string, unknown>): Record<string, unknown> {
  return {
    spec: {
      versions: [{ name: 'v1', served: true, storage: true, ...schemaOf({ spec: { type: 'object', properties } }) }],
    },
  }
}
