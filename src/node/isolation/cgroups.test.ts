import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CgroupPlace, type Controller, cgroupPlaces } from './cgroup-places.ts'
import { systemClock } from '../../foundation/clock.ts'
import { Cgroups, removeGroups, wasOutOfMemory } from './cgroups.ts'

const v1Mounts = `
36 26 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
37 26 0:33 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
39 26 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
38 26 0:34 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`
const v2Mount = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate'

describe('cgroupPlaces', () => {
  it('finds the old hierarchies', () => {
    const places = cgroupPlaces(v1Mounts, '4:memory:/jobs/7\n2:cpu,cpuacct:/\n3:pids:/\n0::/', () => [])
    expect([...places]).toEqual([
      ['memory', { version: 'v1', folder: '/sys/fs/cgroup/memory/jobs/7' }],
      ['cpu', { version: 'v1', folder: '/sys/fs/cgroup/cpu,cpuacct' }],
      ['pids', { version: 'v1', folder: '/sys/fs/cgroup/pids' }],
    ])
  })

  it('finds the unified one, with the controllers it has there', () => {
    const places = cgroupPlaces(v2Mount, '0::/user.slice/app.scope', () => ['memory', 'pids'])
    const place = { version: 'v2', folder: '/sys/fs/cgroup/user.slice/app.scope' }
    expect([...places]).toEqual([
      ['memory', place],
      ['pids', place],
    ])
  })

  it('sees its own group at the mount in a cgroup namespace, and nothing outside of it', () => {
    const inNamespace = '30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw'
    expect(cgroupPlaces(inNamespace, '0::/docker/abc', () => ['cpu']).get('cpu')?.folder).toBe('/sys/fs/cgroup')
    expect(cgroupPlaces(inNamespace, '0::/../other', () => ['cpu']).size).toBe(0)
    expect(cgroupPlaces(inNamespace, '0::/docker/abcd', () => ['cpu']).size).toBe(0)
  })
})

describe('Cgroups', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-cgroup-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const at = (version: 'v1' | 'v2'): Map<Controller, CgroupPlace> =>
    new Map([
      ['memory', { version, folder }],
      ['cpu', { version, folder }],
      ['pids', { version, folder }],
    ])
  const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8')

  it('writes the limits of a container in the old way', () => {
    const cgroups = new Cgroups('0123456789', at('v1'))
    expect(cgroups.support).toMatchObject({ memory: true, cpu: true })
    expect(cgroups.make('u.main', { memoryBytes: 2 ** 26, cpus: 1.5, pids: 100 })).toEqual([
      join(folder, 'sluice-01234567', 'u.main'),
    ])
    expect(read('sluice-01234567', 'u.main', 'memory.limit_in_bytes')).toBe('67108864')
    expect(read('sluice-01234567', 'u.main', 'cpu.cfs_quota_us')).toBe('150000')
    expect(read('sluice-01234567', 'u.main', 'pids.max')).toBe('100')
    expect(cgroups.make('u.free', {})).toEqual([])
  })

  it('moves itself and what it has started before it hands controllers down in the unified hierarchy', () => {
    writeFileSync(join(folder, 'cgroup.type'), 'domain')
    writeFileSync(join(folder, 'cgroup.procs'), `${process.pid}\n`)
    writeFileSync(join(folder, 'cgroup.subtree_control'), '')
    const cgroups = new Cgroups('0123456789', at('v2'))
    writeFileSync(join(folder, 'cgroup.procs'), `${process.pid}\n77\n`)
    cgroups.make('u.main', { memoryBytes: 1000, cpus: 0.1 })
    // A plain file keeps only the last value written; the kernel would keep all.
    expect(read('sluice-01234567-self', 'cgroup.procs')).toBe('77')
    expect(read('cgroup.subtree_control')).toBe('+memory +cpu +pids')
    expect(read('sluice-01234567', 'u.main', 'memory.max')).toBe('1000')
    expect(read('sluice-01234567', 'u.main', 'cpu.max')).toBe('10000 100000')
  })

  it('limits all containers together in the old way, also those without a limit of their own', () => {
    const cgroups = new Cgroups('0123456789', at('v1'))
    expect(cgroups.limitTogether({ memoryBytes: 2 ** 27, cpus: 0.5 })).toBeUndefined()
    expect(read('sluice-01234567', 'memory.limit_in_bytes')).toBe('134217728')
    expect(read('sluice-01234567', 'cpu.cfs_quota_us')).toBe('50000')
    expect(Number(read('sluice-01234567', 'pids.max'))).toBeGreaterThan(0)
    const free = join(folder, 'sluice-01234567', 'u.free')
    expect(cgroups.make('u.free', {})).toEqual([free])
    expect(existsSync(join(free, 'memory.limit_in_bytes'))).toBe(false)
    // The kernel refuses a group more processors than the one around it has.
    cgroups.make('u.main', { cpus: 2 })
    expect(read('sluice-01234567', 'u.main', 'cpu.cfs_quota_us')).toBe('50000')
    cgroups.limitTogether({ cpus: 0.2 })
    expect(read('sluice-01234567', 'u.main', 'cpu.cfs_quota_us')).toBe('20000')
    expect(read('sluice-01234567', 'memory.limit_in_bytes')).toBe('-1')
  })

  it('limits all containers together in the unified hierarchy, and one that is prepared ahead among them', () => {
    writeFileSync(join(folder, 'cgroup.subtree_control'), '')
    const cgroups = new Cgroups('0123456789', at('v2'))
    cgroups.limitTogether({ memoryBytes: 2 ** 27 })
    expect(read('sluice-01234567', 'memory.max')).toBe('134217728')
    expect(existsSync(join(folder, 'sluice-01234567', 'memory.oom.group'))).toBe(false)
    const ahead = cgroups.makeAhead('next')
    expect(ahead).toEqual([join(folder, 'sluice-01234567', 'spare-next')])
    expect(cgroups.makeFor('u.main', {}, ahead)).toEqual({ entered: [], all: ahead })
    cgroups.limitTogether({})
    expect(read('sluice-01234567', 'memory.max')).toBe('max')
    expect(read('sluice-01234567', 'pids.max')).toBe('max')
  })

  it('says when a limit of all cannot be set yet, and sets it with the next container', () => {
    const cgroups = new Cgroups('0123456789', at('v1'))
    const file = join(folder, 'sluice-01234567', 'memory.limit_in_bytes')
    mkdirSync(file, { recursive: true })
    expect(cgroups.limitTogether({ memoryBytes: 1000 })).toContain('EISDIR')
    rmSync(file, { recursive: true })
    cgroups.make('u.main', {})
    expect(readFileSync(file, 'utf8')).toBe('1000')
  })

  it('leaves a group alone that holds processes of others, and says why', () => {
    writeFileSync(join(folder, 'cgroup.type'), 'domain')
    writeFileSync(join(folder, 'cgroup.procs'), `${process.pid}\n1\n`)
    writeFileSync(join(folder, 'cgroup.subtree_control'), '')
    const cgroups = new Cgroups('0123456789', at('v2'))
    expect(cgroups.support).toMatchObject({ memory: false, cpu: false })
    expect(cgroups.support.message).toContain('other processes')
    expect(cgroups.make('u.main', { memoryBytes: 1000 })).toEqual([])
  })

  it.each([
    ['memory.events', 'low 0\noom 1\noom_kill 1\n', true],
    ['memory.events', 'low 0\noom 1\noom_kill 0\n', false],
    ['memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n', true],
  ])('reads from %s whether memory ran out', (name, text, expected) => {
    mkdirSync(join(folder, 'c'))
    writeFileSync(join(folder, 'c', name), text)
    expect(wasOutOfMemory([join(folder, 'c')])).toBe(expected)
  })
})

describe.skipIf(!Cgroups.onThisMachine('none').support.pids)('groups of this machine', () => {
  it('are removed where a run that was killed left them, also when something is just ending in them', async () => {
    const cgroups = Cgroups.onThisMachine(randomUUID())
    const make = (name: string) => cgroups.make(name, { pids: 10 })[0] ?? ''
    const [left, kept, ending] = [make('left.main'), make('kept.main'), make('ending.main')]
    const child = spawn('sleep', ['3600'])
    writeFileSync(join(ending, 'cgroup.procs'), String(child.pid))
    const removing = cgroups.removeLeft(new Set([kept]), systemClock)
    expect([left, kept, ending].map((folder) => existsSync(folder))).toEqual([false, true, true])
    child.kill('SIGKILL')
    await removing
    expect([kept, ending].map((folder) => existsSync(folder))).toEqual([true, false])
    removeGroups([kept])
    cgroups.close()
  })
})
