import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { configMapKind } from '../resources/config-map.ts'
import { eventKind } from '../resources/event.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { AgentStage, isRunning, statusOf } from './agent-stage.fixture.ts'

let stage: AgentStage

async function begin(options: ConstructorParameters<typeof AgentStage>[1] = {}): Promise<AgentStage> {
  stage = await new AgentStage('paths', options).prepare()
  return stage
}

afterEach(() => stage.close())

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '0.0.0.0')
  await once(server, 'listening')
  const bound = server.address()
  server.close()
  await once(server, 'close')
  return typeof bound === 'object' && bound ? bound.port : 0
}

const waitingMessage = (pod: Pod) => statusOf(pod)?.state?.waiting?.message

async function countedEvents(name: string, reason: string) {
  const { items } = await stage.client.list(eventKind, { namespace: 'default' })
  return items.filter((event) => event.involvedObject.name === name && event.reason === reason)
}

describe('a Pod whose port somebody has on all addresses', () => {
  it('waits visibly, is tried again ever more rarely, and runs once the port is free', async () => {
    const clock = new FakeClock(Date.now())
    await begin({ clock })
    const untilLater = (name: string, holds: (pod: Pod) => boolean) =>
      stage.until(name, (pod) => {
        void clock.advance(1000)
        return holds(pod)
      })
    const port = await unusedPort()
    const ports = [{ containerPort: port }]
    const listen = `require('net').createServer().listen(${port}, '0.0.0.0', () => console.log('listens'))`
    const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 }
    await stage.create('redis-leader', `exec ${process.execPath} -e "${listen}"`, { ports, readinessProbe })
    await untilLater('redis-leader', (pod) => statusOf(pod)?.ready === true)

    const written = vi.spyOn(stage.client, 'changeStatus')
    const told = vi.spyOn(stage.client, 'create')
    await stage.create('redis-follower', 'exec sleep 60', { ports })
    const waiting = await stage.until('redis-follower', (pod) => waitingMessage(pod) !== undefined)
    expect(waiting.status?.phase).toBe('Pending')
    expect(waitingMessage(waiting)).toContain(`port ${port}`)
    expect(waitingMessage(waiting)).toContain('all addresses')
    expect(waitingMessage(waiting)).not.toMatch(/\d+\.\d+\.\d+\.\d+/)

    // Enough time and turns of the event loop for hundreds of rounds, if it were tried again at once.
    for (let turn = 0; turn < 300; turn += 1) await clock.advance(100)
    expect(written.mock.calls.filter(([kind]) => kind === podKind).length).toBeLessThanOrEqual(5)
    expect(told.mock.calls.length).toBeLessThanOrEqual(5)
    const failures = await countedEvents('redis-follower', 'FailedCreatePodSandBox')
    expect(failures).toHaveLength(1)

    await stage.delete('redis-leader', 0)
    await untilLater('redis-follower', isRunning)
  }, 30_000)
})

describe('a Pod that listens on all addresses where another one does', () => {
  it('is told why it crashes, and is started ever more rarely', async () => {
    const clock = new FakeClock(Date.now())
    await begin({ clock })
    const port = await unusedPort()
    const listen = `exec ${process.execPath} -e "require('net').createServer().listen(${port}, '0.0.0.0', () => console.log('listens'))"`
    const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 }
    await stage.create('first', listen, { readinessProbe })
    await stage.until('first', (pod) => {
      void clock.advance(1000)
      return statusOf(pod)?.ready === true
    })
    // Neither declares its port, so the conflict shows only when the second one starts.
    await stage.create('second', listen)
    const crashed = await stage.until('second', (pod) => statusOf(pod)?.lastState?.terminated !== undefined)
    expect(statusOf(crashed)?.lastState?.terminated?.message).toContain(
      'listens on all addresses, which on this node only one Pod can do per port',
    )
    const waiting = await stage.until(
      'second',
      (pod) => statusOf(pod)?.restartCount === 1 && waitingMessage(pod) !== undefined,
    )
    expect(waitingMessage(waiting)).toContain('back-off 10s')
    expect(statusOf(waiting)?.restartCount).toBe(1)
  }, 30_000)
})

describe('a Pod that runs', () => {
  it('is not taken in hand forever when its token cannot be renewed', async () => {
    const clock = new FakeClock(Date.now())
    let asked = 0
    const tokens = async () => {
      asked += 1
      if (asked > 1) throw new Error('the account is gone')
      return 'token'
    }
    await begin({ clock, tokens })
    const serviceAccountToken = { path: 'token', expirationSeconds: 600 }
    const volumes = [{ name: 'token', projected: { sources: [{ serviceAccountToken }] } }]
    const volumeMounts = [{ name: 'token', mountPath: '/var/run/token' }]
    await stage.create('web', 'exec sleep 60', { volumeMounts }, { volumes })
    await stage.until('web', isRunning)
    // The token is renewed with a fifth of its life left, and from then on that fails.
    await clock.advance(480_000)
    await clock.advance(60_000)
    expect(asked).toBeGreaterThan(3)
    expect(asked).toBeLessThan(12)
    expect(isRunning(await stage.pod('web'))).toBe(true)
  })

  it('crashing again and again, it has its status written as rarely as it is started', async () => {
    const clock = new FakeClock(Date.now())
    await begin({ clock })
    const written = vi.spyOn(stage.client, 'changeStatus')
    await stage.create('web', 'exit 1')
    await stage.until('web', (pod) => statusOf(pod)?.restartCount === 1 && statusOf(pod)?.state?.waiting !== undefined)
    const soFar = written.mock.calls.length
    await clock.advance(9_000)
    expect(written.mock.calls.length).toBe(soFar)
    await clock.advance(1_001)
    await stage.until('web', (pod) => statusOf(pod)?.restartCount === 2 && statusOf(pod)?.state?.waiting !== undefined)
    await clock.advance(19_000)
    expect(statusOf(await stage.pod('web'))?.restartCount).toBe(2)
    expect(written.mock.calls.length).toBeLessThanOrEqual(soFar + 4)
  })
})

describe('a ConfigMap that changes all the time', () => {
  it('does not start a container as often that waits for a key in it', async () => {
    const clock = new FakeClock(Date.now())
    await begin({ clock })
    const ref = { namespace: 'default', name: 'settings' }
    await stage.client.create(configMapKind, { metadata: ref, data: {} })
    const valueFrom = { configMapKeyRef: { name: 'settings', key: 'mode' } }
    await stage.create('web', 'exec sleep 60', { env: [{ name: 'MODE', valueFrom }] })
    await stage.until('web', (pod) => statusOf(pod)?.state?.waiting?.reason === 'CreateContainerConfigError')
    const told = vi.spyOn(stage.client, 'create')
    const patched = vi.spyOn(stage.client, 'patch')
    for (let beat = 0; beat < 100; beat += 1) {
      await stage.client.patch(configMapKind, ref, { data: { beat: String(beat) } })
      await clock.advance(10)
    }
    await clock.advance(500)
    expect(told.mock.calls.length + patched.mock.calls.length - 100).toBeLessThanOrEqual(3)
    await stage.client.patch(configMapKind, ref, { data: { mode: 'fast' } })
    await clock.advance(1_500)
    await stage.until('web', isRunning)
  })
})
