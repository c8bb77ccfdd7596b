import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { addressAt, formatRange } from '../../../resources/address-range.ts'
import { describeRules, podNames, policy } from './ruled-pods.fixture.ts'

const run = promisify(execFile)

describeRules('the rules made of policies', (pods) => {
  /** Who reaches whom, as lines such as `web → db`. */
  const table = async (...ports: number[]) => {
    const pairs = podNames.flatMap((from) => podNames.flatMap((to) => ports.map((port) => ({ from, to, port }))))
    const others = pairs.filter(({ from, to }) => from !== to)
    const said = await Promise.all(others.map(({ from, to, port }) => pods.reaches(from, to, port)))
    expect(said.filter((each) => each !== 'reached' && each !== 'silence')).toEqual([])
    return others
      .filter((_pair, index) => said[index] === 'reached')
      .map(({ from, to, port }) => `${from} → ${to}${ports.length > 1 ? `:${port}` : ''}`)
  }
  const all = podNames.flatMap((from) => podNames.filter((to) => to !== from).map((to) => `${from} → ${to}`))
  const into = (name: string, sources: readonly string[]) =>
    all.filter((pair) => !pair.endsWith(`→ ${name}`) || sources.some((source) => pair === `${source} → ${name}`))
  const db = { matchLabels: { app: 'db' } }

  it('let every Pod reach every other where there is no policy', async () => {
    await pods.stage.rules.settle()
    expect(await table(80)).toEqual(all)
  })

  it('close a Pod that a policy lets nobody into, but not to the machine it is on', async () => {
    await pods.apply(policy('closed', { podSelector: db }))
    expect(await table(80)).toEqual(into('db', []))
    expect(await pods.reaches('machine', 'db')).toBe('reached')
  })

  it('let Pods in by their labels, of the same namespace', async () => {
    await pods.apply(
      policy('web', { podSelector: db, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }] }),
    )
    expect(await table(80)).toEqual(into('db', ['web']))
  })

  it('let Pods in by the labels of their namespaces', async () => {
    const namespaceSelector = { matchLabels: { name: 'elsewhere' } }
    await pods.apply(policy('elsewhere', { podSelector: db, ingress: [{ from: [{ namespaceSelector }] }] }))
    expect(await table(80)).toEqual(into('db', ['stranger']))
    const guests = { namespaceSelector, podSelector: { matchLabels: { app: 'guest' } } }
    await pods.apply(policy('elsewhere', { podSelector: db, ingress: [{ from: [guests] }] }))
    expect(await table(80)).toEqual(into('db', []))
  })

  it('let blocks of addresses in, except for parts of them', async () => {
    const cidr = formatRange(pods.ranges.pods)
    const ipBlock = { cidr, except: [pods.single(pods.address('guest'))] }
    await pods.apply(policy('block', { podSelector: db, ingress: [{ from: [{ ipBlock }] }] }))
    expect(await table(80)).toEqual(into('db', ['web', 'stranger']))
    // A block of one family lets nobody in by the other.
    const other = { cidr: pods.family === 4 ? '::/0' : '0.0.0.0/0' }
    await pods.apply(policy('block', { podSelector: db, ingress: [{ from: [{ ipBlock: other }] }] }))
    expect(await table(80)).toEqual(into('db', []))
  })

  it('let in at some ports only: by number, by name and by range', async () => {
    const ports = [
      { port: 'http', protocol: 'TCP' },
      { port: 1000, endPort: 2000 },
    ]
    await pods.apply(policy('ports', { podSelector: db, ingress: [{ ports }] }))
    const said = await Promise.all([80, 81, 1500].map((port) => pods.reaches('web', 'db', port)))
    expect(said).toEqual(['silence', 'reached', 'reached'])
    expect(await pods.stage.agent('web').ask(pods.address('db'), 81, 'udp')).toBe('silence')
  })

  it('keep a Pod from reaching anybody, with an exception, the machine included', async () => {
    const spec = { podSelector: { matchLabels: { app: 'guest' } }, policyTypes: ['Egress'] }
    await pods.apply(policy('closed', spec))
    expect(await table(80)).toEqual(all.filter((pair) => !pair.startsWith('guest')))
    const dns = { ports: [{ port: 81, protocol: 'UDP' }] }
    await pods.apply(policy('closed', { ...spec, egress: [dns] }))
    const guest = pods.stage.agent('guest')
    expect(await guest.ask(pods.address('db'), 81, 'udp')).toBe(`db ${pods.address('guest')}`)
    expect(await Promise.all([guest.ask(pods.address('db'), 81), guest.ask(pods.address('outside'), 80)])).toEqual([
      'silence',
      'silence',
    ])
    // If a connection reaches the machine, where nobody listens on the port, it is refused.
    expect(await Promise.all([guest, pods.stage.agent('web')].map((one) => one.ask(pods.hostAddress, 1)))).toEqual([
      'silence',
      'refused',
    ])
  })

  it('add up what policies allow, and ask at both ends', async () => {
    await pods.apply(
      policy('closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
      policy('into', { podSelector: db, ingress: [{ from: [{ podSelector: {} }] }] }),
      policy('out', { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'], egress: [{}] }),
    )
    expect(await table(80)).toEqual(['web → db', 'web → stranger'])
  })

  it('judge what goes through a Service by the Pods that it goes between', async () => {
    pods.stage.services.put(pods.service('pair', 7))
    pods.stage.slices.put(pods.slice('pair', ['db']))
    await pods.apply(
      policy('web', { podSelector: db, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }] }),
    )
    expect(await pods.answers('web', pods.serviceAt(7), 1)).toEqual(new Set([`db ${pods.address('web')}`]))
    expect(await pods.answers('guest', pods.serviceAt(7), 1)).toEqual(new Set(['silence']))
  })

  it('isolate a Pod before anybody knows of its address', async () => {
    await pods.apply(policy('closed', { podSelector: { matchLabels: { app: 'guest' } } }))
    const [guest] = pods.stage.pods.list().filter(({ metadata }) => metadata.name === 'guest')
    if (!guest) throw new Error('the Pod is not there')
    const newcomer = { ...guest, metadata: { ...guest.metadata, name: 'new', uid: 'new' }, status: undefined }
    const [four, expected] = [addressAt(pods.stage.network.ranges.pods, 4000), addressAt(pods.ranges.pods, 4000)]
    await pods.stage.rules.admit(newcomer, four)
    const rules = async () => (await run('nft', ['list', 'table', 'inet', pods.stage.table])).stdout
    expect(await rules()).toContain(`${expected} : goto ingress_`)
    pods.stage.rules.forget('new')
    await pods.stage.rules.settle()
    expect(await rules()).not.toContain(expected)
  })
})
