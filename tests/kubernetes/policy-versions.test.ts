import { expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { about, enforce, refusedBy, removePoliciesAfterEach } from './policy-stage.ts'

removePoliciesAfterEach()

const messageExpression = [
  "request.kind.group + '/' + request.requestKind.group + ' ' + request.resource.group",
  "request.requestResource.group + ' ' + object.apiVersion",
].join(" + '/' + ")

onEachServer((server) => {
  const create = (version: string, fields: object) =>
    server.http('POST', `${server.path('events', version)}?dryRun=All`, {
      metadata: { name: 'e' },
      eventTime: '2030-01-01T00:00:00.000000Z',
      reportingInstance: 'c-1',
      action: 'Do',
      reason: 'Done',
      type: 'Normal',
      ...fields,
    })
  const pod = () => ({ kind: 'Pod', name: 'p', namespace: server.namespace })
  // The same fields have other names in the older group.
  const asNew = () => create('events.k8s.io/v1', { regarding: pod(), reportingController: 'example.com/c' })
  const asOld = () => create('v1', { involvedObject: pod(), reportingComponent: 'example.com/c' })

  it('has a policy about one group of Events judge those of the other, in its own words', async () => {
    const validations = [{ expression: 'has(object.involvedObject) && false', messageExpression }]
    const name = await enforce(server, { matchConstraints: about('events', 'CREATE'), validations })
    const answer = await askUntil(asNew, ({ code }) => code === 422)
    const why = '/events.k8s.io /events.k8s.io v1'
    expect(answer.body['message']).toBe(refusedBy(name, 'events.events.k8s.io "e"', why))
    expect((await asOld()).body['message']).toBe(refusedBy(name, 'events "e"', '/ / v1'))
  })

  it('has it judge only its own where it says Exact', async () => {
    const matchConstraints = { ...about('events', 'CREATE'), matchPolicy: 'Exact' }
    await enforce(server, { matchConstraints, validations: [{ expression: 'false' }] })
    await askUntil(asOld, ({ code }) => code === 422)
    expect((await asNew()).code).toBe(201)
  })

  it('excludes by an equal of what is asked for, too', async () => {
    const matchConstraints = {
      ...about('*', 'CREATE', '*'),
      excludeResourceRules: about('events', 'CREATE').resourceRules,
    }
    await enforce(server, { matchConstraints, validations: [{ expression: 'false' }] })
    const map = () => server.http('POST', `${server.path('configmaps')}?dryRun=All`, { metadata: { name: 'm' } })
    await askUntil(map, ({ code }) => code === 422)
    expect((await asNew()).code).toBe(201)
  })
})
