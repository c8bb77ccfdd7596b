import { afterEach, describe, expect, it } from 'vitest'
import { pod as anyPod } from '../../workloads/workload-objects.fixture.ts'
import { AgentStage, isRunning } from '../agent-stage.fixture.ts'
import { HostPortLedger } from './host-port-ledger.ts'

interface Port {
  readonly hostPort: number
  readonly hostIP?: string
  readonly protocol?: 'TCP' | 'UDP'
}

const asking = (name: string, ...ports: readonly Port[]) => {
  const { spec, ...pod } = anyPod(name)
  const asked = ports.map((port) => ({ protocol: 'TCP' as const, containerPort: 80, ...port }))
  return { ...pod, spec: { ...spec, containers: [{ name: 'main', image: 'i', ports: asked }] } }
}

describe('a port of the machine', () => {
  it.each([
    [{ hostPort: 5000 }, false],
    [{ hostPort: 5001 }, true],
    [{ hostPort: 5000, protocol: 'UDP' as const }, true],
    [{ hostPort: 5000, hostIP: '0.0.0.0' }, false],
    [{ hostPort: 5000, hostIP: '127.0.0.1' }, false],
  ])('that is taken is asked for as %j, and had: %s', (port, isHad) => {
    const ledger = new HostPortLedger()
    expect(ledger.take(asking('first', { hostPort: 5000 }))).toBe(true)
    expect(ledger.take(asking('first', { hostPort: 5000 }))).toBe(true)
    expect(ledger.take(asking('second', port))).toBe(isHad)
  })

  it('at one address leaves the others free, and is free again when its Pod lets go', () => {
    const ledger = new HostPortLedger()
    const at = (hostIP: string) => ({ hostPort: 5000, hostIP })
    expect(ledger.take(asking('first', at('127.0.0.1')))).toBe(true)
    expect(ledger.take(asking('second', at('127.0.0.2')))).toBe(true)
    expect(ledger.take(asking('third', { hostPort: 5000 }))).toBe(false)
    ledger.release('uid-first')
    ledger.release('uid-second')
    expect(ledger.take(asking('third', { hostPort: 5000 }))).toBe(true)
  })
})

describe('a Pod that names its node itself', () => {
  let stage: AgentStage
  afterEach(() => stage.close())

  it('fails when another has its port, and may come when that is gone', async () => {
    stage = await new AgentStage('paths').prepare()
    const ports = [{ containerPort: 8080, hostPort: 21_017 }]
    await stage.create('first', 'exec sleep 60', { ports })
    await stage.until('first', isRunning)
    await stage.create('second', 'exec sleep 60', { ports })
    const refused = await stage.until('second', ({ status }) => status?.phase === 'Failed')
    expect(refused.status).toMatchObject({ reason: 'NodePorts', message: 'Predicate NodePorts failed' })
    // A Pod that has a port keeps it, also after a restart of the node.
    await stage.stop()
    await stage.start()
    await stage.until('first', isRunning)
    await stage.delete('first')
    await stage.untilGone('first')
    await stage.create('third', 'exec sleep 60', { ports })
    await stage.until('third', isRunning)
  })
})
