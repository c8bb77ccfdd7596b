import { describe, expect, it } from 'vitest'
import { labelled, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const found = async (resource: string, query: Record<string, string>, group?: string) => {
    const list = await server.ok('GET', server.path(`${resource}?${new URLSearchParams(query).toString()}`, group))
    return list.items.map(({ metadata }) => metadata.name)
  }

  describe('label selectors', () => {
    const shapes: ReadonlyArray<readonly [selector: string, names: readonly string[]]> = [
      ['', ['blue', 'green', 'none', 'red']],
      ['colour=red', ['red']],
      ['colour==red', ['red']],
      ['colour!=red', ['blue', 'green', 'none']],
      ['colour in (red,blue)', ['blue', 'red']],
      ['colour in ( red , blue )', ['blue', 'red']],
      ['colour notin (red,blue)', ['green', 'none']],
      ['colour', ['blue', 'green', 'red']],
      ['!colour', ['none']],
      ['colour,tier=back', ['green']],
      ['tier=', ['blue']],
      ['colour in ()', []],
      ['weight>5', ['red']],
      ['weight<5', ['green']],
      ['example.com/team=a', ['red']],
    ]

    it('choose by equality, sets, existence and number', async () => {
      const all = {
        red: { colour: 'red', tier: 'front', weight: '10', 'example.com/team': 'a' },
        blue: { colour: 'blue', tier: '' },
        green: { colour: 'green', tier: 'back', weight: '3' },
        none: {},
      }
      for (const [name, labels] of Object.entries(all)) {
        await server.ok('POST', server.path('configmaps'), labelled(name, labels))
      }
      const seen: Record<string, readonly string[]> = {}
      for (const [selector] of shapes) seen[selector] = await found('configmaps', { labelSelector: selector })
      expect(seen).toEqual(Object.fromEntries(shapes))
    })

    it.each(['a=b=c', 'a in (', '=x', 'a in b', ',', 'not/a/key=x', 'a=wrong value', 'x>y'])(
      'refuses %s',
      async (selector) => {
        const query = new URLSearchParams({ labelSelector: selector }).toString()
        const answer = await server.http('GET', server.path(`configmaps?${query}`))
        expect([answer.code, answer.body.reason]).toEqual([400, 'BadRequest'])
      },
    )
  })

  describe('field selectors', () => {
    it('choose Pods by node, phase and name', async () => {
      await server.ok(
        'POST',
        server.path('pods'),
        pod('bound', server.image, { nodeName: 'n1', restartPolicy: 'Never' }),
      )
      await server.ok('POST', server.path('pods'), pod('free', server.image))
      await server.patch(server.path('pods/free/status'), 'merge', { status: { phase: 'Running' } })
      const fields = (fieldSelector: string) => found('pods', { fieldSelector })
      expect(await fields('spec.nodeName=n1')).toEqual(['bound'])
      expect(await fields('spec.nodeName=')).toEqual(['free'])
      expect(await fields('spec.nodeName!=n1')).toEqual(['free'])
      expect(await fields('status.phase=Running')).toEqual(['free'])
      expect(await fields('status.phase!=Running,metadata.name=bound')).toEqual(['bound'])
      expect(await fields(`metadata.namespace=${server.namespace},spec.restartPolicy=Never`)).toEqual(['bound'])
      expect(await fields('spec.serviceAccountName=nobody')).toEqual([])
    })

    it('choose Secrets by type, and Events by what they are about', async () => {
      await server.ok('POST', server.path('secrets'), { metadata: { name: 'plain' } })
      await server.ok('POST', server.path('secrets'), { metadata: { name: 'mine' }, type: 'example.com/mine' })
      expect(await found('secrets', { fieldSelector: 'type=example.com/mine' })).toEqual(['mine'])
      const event = (name: string, reason: string, about: string) =>
        server.ok('POST', server.path('events'), {
          metadata: { name },
          reason,
          type: 'Normal',
          involvedObject: { kind: 'Pod', name: about, namespace: server.namespace },
        })
      await event('e1', 'Started', 'p')
      await event('e2', 'Stopped', 'q')
      expect(await found('events', { fieldSelector: 'involvedObject.name=p' })).toEqual(['e1'])
      expect(await found('events', { fieldSelector: 'reason=Stopped,type=Normal' })).toEqual(['e2'])
    })

    it('choose custom objects by name only', async () => {
      const answer = await server.http('GET', server.path('models?fieldSelector=spec.engine%3DVLLM', 'sluice.dev/v1'))
      expect(answer.code).toBe(400)
      expect(answer.body.message).toContain('field label not supported: spec.engine')
      expect(await found('models', { fieldSelector: 'metadata.name=x' }, 'sluice.dev/v1')).toEqual([])
    })

    it('choose Namespaces by phase and Nodes by whether they take Pods', async () => {
      const namespaces = await server.ok('GET', '/api/v1/namespaces?fieldSelector=status.phase%3DActive')
      expect(namespaces.items.map(({ metadata }) => metadata.name)).toContain(server.namespace)
      await server.ok('POST', '/api/v1/nodes', {
        metadata: { name: `n-${server.namespace}` },
        spec: { unschedulable: true },
      })
      const nodes = await server.ok('GET', '/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue')
      expect(nodes.items.map(({ metadata }) => metadata.name)).toContain(`n-${server.namespace}`)
    })

    it.each([
      ['configmaps', 'data.x=1', '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'],
      ['pods', 'spec.colour=red', 'field label not supported: spec.colour'],
      ['pods', 'metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ])('refuses on %s the field %s', async (resource, fieldSelector, message) => {
      const query = new URLSearchParams({ fieldSelector }).toString()
      const answer = await server.http('GET', server.path(`${resource}?${query}`))
      expect([answer.code, answer.body.reason]).toEqual([400, 'BadRequest'])
      expect(answer.body.message).toContain(message)
    })
  })
})
