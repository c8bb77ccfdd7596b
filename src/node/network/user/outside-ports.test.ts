import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { silentLogger } from '../../../foundation/log.ts'
import { pod } from '../../../workloads/workload-objects.fixture.ts'
import type { HostPort } from '../host-ports.ts'
import { OutsidePorts } from './outside-ports.ts'

const keeper = 4711
const port = (hostPort: number, more: Partial<HostPort> = {}) => ({
  pod: pod('web'),
  port: { hostIP: '', hostPort, protocol: 'tcp' as const, address: '10.1.0.5', port: 80, ...more },
})
const line = 'tcp 0.0.0.0 8080 10.1.0.1 10.1.0.5 80'

describe('ports of the machine, for Pods in a network of a user,', () => {
  let folder: string
  let clock: FakeClock
  let wakes: number
  let news: string[]
  let ports: OutsidePorts

  const wanted = () => readFileSync(join(folder, 'ports', 'sluice-1'), 'utf8')
  const say = (...lines: string[]) => writeFileSync(join(folder, 'ports.said'), [keeper, ...lines, ''].join('\n'))

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-outside-ports-'))
    clock = new FakeClock()
    wakes = 0
    news = []
    ports = new OutsidePorts({
      network: { folder, keeper },
      name: 'sluice-1',
      machine: { ipv4: '10.1.0.1', ipv6: 'fd00::1' },
      tell: ({ pod: { metadata }, isOpen, message }) => news.push(`${metadata.name} ${isOpen}: ${message}`),
      wake: () => (wakes += 1),
      clock,
      log: silentLogger,
    })
  })
  afterEach(() => {
    ports.close(false)
    rmSync(folder, { recursive: true, force: true })
  })

  it('are asked for by a file, at all addresses of a family or at one', () => {
    const six = { address: 'fd00::5', protocol: 'udp' as const }
    ports.want([
      port(8080),
      port(8080, six),
      port(8081, { hostIP: '127.0.0.1' }),
      port(8082, { ...six, hostIP: '::1' }),
    ])
    expect(wanted().split('\n')).toEqual([
      line,
      'udp :: 8080 fd00::1 fd00::5 80',
      'tcp 127.0.0.1 8081 10.1.0.1 10.1.0.5 80',
      'udp ::1 8082 fd00::1 fd00::5 80',
      '',
    ])
    expect(wakes).toBeGreaterThan(0)
  })

  it('are asked for once, and given up when none is wanted, or with the network', () => {
    ports.want([port(8080)])
    say(`${line} open`)
    const asked = wakes
    ports.want([port(8080)])
    expect(wakes).toBe(asked)
    ports.want([])
    expect(wanted()).toBe('')
    expect(clock.pendingTimers).toBe(0)
    ports.close(true)
    expect(existsSync(join(folder, 'ports', 'sluice-1'))).toBe(false)
    expect(wakes).toBeGreaterThan(asked + 1)
  })

  it('are not spoken of while all is well', async () => {
    ports.want([port(8080)])
    say(`${line} open`)
    await clock.advance(60_000)
    expect(news).toEqual([])
  })

  it('are said once to be had by others, when that lasts, and to be had again', async () => {
    ports.want([port(8080)])
    say(`${line} EADDRINUSE`)
    await clock.advance(2_000)
    expect(news).toEqual([])
    await clock.advance(60_000)
    const taken = 'web false: Port 8080/TCP of the machine cannot be had: another program has it. It is tried again.'
    expect(news).toEqual([taken])
    say(`${line} open`)
    await clock.advance(5_000)
    expect(news).toEqual([taken, 'web true: Port 8080/TCP of the machine leads to the Pod now.'])
  })

  it.each([
    ['EACCES', 'this user may not have so low a port (net.ipv4.ip_unprivileged_port_start)'],
    ['EADDRNOTAVAIL', 'the machine has no such address'],
    ['no process can be made: limit', 'no process can be made: limit'],
  ])('cannot be had for the reason %s', async (reason, words) => {
    ports.want([port(8080, { hostIP: '192.0.2.7' })])
    say(`tcp 192.0.2.7 8080 10.1.0.1 10.1.0.5 80 ${reason}`)
    await clock.advance(10_000)
    expect(news).toEqual([
      `web false: At 192.0.2.7, port 8080/TCP of the machine cannot be had: ${words}. It is tried again.`,
    ])
  })

  it('are said to lack a keeper that answers, whoever answered before', async () => {
    writeFileSync(join(folder, 'ports.said'), `1\n${line} open\n`)
    ports.want([port(8080)])
    await clock.advance(60_000)
    expect(news).toEqual([expect.stringContaining('the process that keeps the network of Pods does not answer')])
    say(`${line} open`)
    await clock.advance(5_000)
    expect(news).toHaveLength(2)
  })

  it('are asked for again where the file could not be written', async () => {
    writeFileSync(join(folder, 'ports'), 'in the way')
    ports.want([port(8080)])
    await clock.advance(10_000)
    expect(news).toEqual([expect.stringContaining('EEXIST')])
    rmSync(join(folder, 'ports'))
    await clock.advance(5_000)
    expect(wanted()).toBe(`${line}\n`)
  })
})
