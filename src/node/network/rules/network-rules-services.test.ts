import { expect, it } from 'vitest'
import { flowTool } from '../network-stage.fixture.ts'
import { type Asker, describeRules, policy } from './ruled-pods.fixture.ts'

describeRules('the rules made of Services and ports', (pods) => {
  it('lead from a Service to every Pod behind it, from Pods and from the machine', async () => {
    pods.stage.services.put(pods.service('pair', 7))
    pods.stage.slices.put(pods.slice('pair', ['web', 'db']))
    await pods.stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      const both = new Set([`web ${pods.address(from)}`, `db ${pods.address(from)}`])
      expect(await pods.answers(from, pods.serviceAt(7), 40)).toEqual(both)
      expect(both).toContain(await pods.stage.agent(from).ask(pods.serviceAt(7), 53, 'udp'))
    }
    // A Pod that reaches itself through the Service is answered, too.
    expect(await pods.answers('web', pods.serviceAt(7), 40)).toEqual(
      new Set([`web ${pods.hostIP}`, `db ${pods.address('web')}`]),
    )
  })

  it.runIf(flowTool)('lead who goes on sending over UDP to another Pod when the one it came to is gone', async () => {
    pods.stage.services.put(pods.service('pair', 7))
    pods.stage.slices.put(pods.slice('pair', ['web']))
    await pods.stage.rules.settle()
    const ask = (from: Asker, host: string, port: number) =>
      pods.stage.agent(from).ask(host, port, 'udp', undefined, 45_678)
    for (const from of ['guest', 'machine'] as const) {
      expect(await ask(from, pods.serviceAt(7), 53)).toBe(`web ${pods.address(from)}`)
    }
    pods.stage.slices.put(pods.slice('pair', ['db']))
    await pods.stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      expect(await ask(from, pods.serviceAt(7), 53)).toBe(`db ${pods.address(from)}`)
    }
    // Flows whose endpoint is still valid are kept.
    expect(await ask('guest', pods.hostAddress, pods.hostPort)).toBe(`web ${pods.address('guest')}`)
    expect((await flowTool?.list())?.filter(({ endpoint }) => endpoint === pods.address('web'))).toHaveLength(1)
  })

  it('keep a client with the Pod that it first came to, also when other things change', async () => {
    pods.stage.services.put(pods.service('sticky', 8, { sessionAffinity: 'ClientIP' }))
    pods.stage.slices.put(pods.slice('sticky', ['web', 'db']))
    await pods.stage.rules.settle()
    const first = await pods.answers('guest', pods.serviceAt(8), 1)
    expect(await pods.answers('guest', pods.serviceAt(8), 20)).toEqual(first)
    await pods.apply(policy('unrelated', { podSelector: { matchLabels: { app: 'stranger' } } }, 'elsewhere'))
    pods.stage.services.put(pods.service('other', 9))
    pods.stage.slices.put(pods.slice('other', ['db']))
    await pods.stage.rules.settle()
    expect(await pods.answers('guest', pods.serviceAt(8), 20)).toEqual(first)
    expect((await pods.answers('guest', pods.serviceAt(9), 1)).size).toBe(1)
  })

  it('refuse who comes to a Service without anybody behind it, or to a port it does not have', async () => {
    pods.stage.services.put(pods.service('empty', 10), pods.service('pair', 7))
    pods.stage.slices.put(pods.slice('pair', ['web']))
    await pods.stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      const agent = pods.stage.agent(from)
      const asked = [
        agent.ask(pods.serviceAt(10), 8000),
        agent.ask(pods.serviceAt(7), 1),
        agent.ask(pods.serviceAt(10), 53, 'udp'),
      ]
      expect(await Promise.all(asked)).toEqual(['refused', 'refused', 'refused'])
    }
  })

  it('lead from a port of the machine to the Pod that asked for it', async () => {
    await pods.stage.rules.settle()
    expect(await pods.stage.agent('outside').ask(pods.hostAddress, pods.hostPort)).toBe(
      `web ${pods.address('outside')}`,
    )
    expect(await pods.stage.agent('machine').ask(pods.hostAddress, pods.hostPort)).toBe(`web ${pods.hostAddress}`)
    expect(await pods.stage.agent('guest').ask(pods.hostAddress, pods.hostPort)).toBe(`web ${pods.address('guest')}`)
    expect(await pods.stage.agent('web').ask(pods.hostAddress, pods.hostPort)).toBe(`web ${pods.hostIP}`)
  })

  it.runIf(pods.family === 4)('lead there from the loopback of the machine, too, over UDP as well', async () => {
    await pods.stage.rules.settle()
    const machine = pods.stage.agent('machine')
    for (const loopback of ['127.0.0.1', '127.7.7.7']) {
      expect(await machine.ask(loopback, pods.hostPort)).toBe(`web ${pods.hostIP}`)
      expect(await machine.ask(loopback, pods.hostPort, 'udp')).toBe(`web ${pods.hostIP}`)
    }
  })
})
