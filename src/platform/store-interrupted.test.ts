import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createTestCertificates } from '../apiserver/test-support/certificates.fixture.ts'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { clusterKind } from '../resources/cluster.ts'
import { configMapKind } from '../resources/config-map.ts'
import { type Event, eventKind } from '../resources/event.ts'
import { StepGate } from '../store/sqlite-file/step-gate.ts'
import { type StoreInterruption, openClusterStore } from './cluster-store.ts'
import { ControlPlane } from './control-plane.ts'

const clusterId = 'home'
const nobody = () => Promise.reject(new Error('there is no node here'))

it('says by an Event about the Cluster that the thread of the store was lost, and how many writes with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-interrupted-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const gate = new StepGate()
  const parts = { clock: systemClock, log: silentLogger, metrics: new Metrics() }
  const onInterruption = (interruption: StoreInterruption) => plane.tellInterruption(interruption)
  const store = await openClusterStore({ path: join(folder, 'sluice.db'), gate, onInterruption, ...parts })
  const { ca, server } = await createTestCertificates('CN=carol')
  const plane = new ControlPlane({
    store,
    identity: { clusterId, adminToken: 'token' },
    registry: () => 'registry.lab-1.localhost',
    services: { range: '10.96.0.0/16', apiServer: '10.96.0.1', isLocal: false },
    tls: { ...server, ca },
    at: { host: '127.0.0.1', port: 0 },
    // oxlint-disable-next-line require-yield -- there is no node, so no log
    podAccess: { async *logs() {}, exec: nobody, attach: nobody, connect: nobody },
    ...parts,
  })
  await plane.start()
  onTestFinished(() => plane.stop())
  const { client } = plane
  const spec = { displayName: 'Home', enterprise: 'ours', center: 'lab-1' }
  const cluster = await client.create(clusterKind, { metadata: { name: clusterId }, spec })

  gate.arm('received', 'exit')
  const write = (name: string) => client.create(configMapKind, { metadata: { name, namespace: 'default' }, data: {} })
  const outcomes = await Promise.allSettled(['a', 'b'].map(write))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])

  const event = await firstEvent()
  expect(event).toMatchObject({ type: 'Warning', reason: 'StoreInterrupted', source: { component: 'sluice-store' } })
  expect(event?.involvedObject).toMatchObject({ kind: 'Cluster', name: clusterId, uid: cluster.metadata.uid })
  expect(event?.message).toMatch(/^No write was taken for \d+\.\d s: .*was lost \(.+\)\. Waiting writes refused: 2\.$/)

  async function firstEvent(): Promise<Event | undefined> {
    const { items, resourceVersion } = await client.list(eventKind, { namespace: 'default' })
    const isIt = ({ reason }: Event) => reason === 'StoreInterrupted'
    const found = items.find(isIt)
    if (found) return found
    const signal = AbortSignal.timeout(15_000)
    for await (const news of client.watch(eventKind, { namespace: 'default', resourceVersion }, signal)) {
      if (news.type === 'ADDED' && isIt(news.object)) return news.object
    }
    return undefined
  }
})
