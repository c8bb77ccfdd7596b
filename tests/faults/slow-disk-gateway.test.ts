import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { eventKind } from '../../src/resources/event.ts'
import { leaseKind } from '../../src/resources/lease.ts'
import { podKind } from '../../src/resources/pod.ts'
import { EventStream } from '../support/event-stream.ts'
import { ModelStage, namespace as modelNamespace } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'
import { useStubEngine } from '../support/stub-engine.ts'
import { PhaseFigures } from './phase-figures.ts'
import { type SlowDisk, makeSlowDisk, noSlowDisk } from './slow-disk.ts'

/** On two cores that others use as well, more of them would measure the machine. */
const streamCount = Number(process.env['SLUICE_TEST_STREAMS'] ?? 100)
const everyMs = 100
/** One takes 64 requests at a time, and plain ones come as well. The machine must have room for them: two cores for four. */
const replicas = Math.ceil((streamCount + 4) / 60)
const syncMs = 2_000
const namespace = 'default'
/** Round robin, so that no two writes that wait for the disk are about the same object. */
const targets = 60
const names = Array.from({ length: targets }, (_, at) => `busy-${at}`)
/** A loop that waits for the disk is late by a whole sync, ten times as much. */
const noiseMs = 200

describe.skipIf(noSlowDisk !== undefined)(`a gateway beside a slow disk${noSlowDisk ? ` (${noSlowDisk})` : ''}`, () => {
  let folder: string
  let disk: SlowDisk
  let stage: ModelStage
  let phase = new PhaseFigures('start')

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-slow-'))
    disk = makeSlowDisk(folder)
    stage = new ModelStage(['--gpus', `nvidia.com/gpu-l40s=${replicas}`, '--gateway-workers', '1'], disk.env)
    useStubEngine(stage, everyMs)
    await stage.start()
    await stage.create('awake', { minReplicas: replicas, maxReplicas: replicas })
    await stage.untilModel('awake', ({ status }) => status?.readyReplicas === replicas)
    for (const name of names) {
      await stage.client.create(configMapKind, { metadata: { name, namespace }, data: {} })
      await stage.client.create(leaseKind, { metadata: { name, namespace }, spec: { holderIdentity: 'nobody' } })
    }
  })
  afterAll(async () => {
    disk.setSyncMs(0)
    await stage.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  it('streams and answers as before while every sync takes 2 s and writes keep coming, and loses none', async () => {
    const streams = startStreams()
    await begun(streams)
    const load = await startLoad('first')

    const before = await measure('fast disk', 5_000)
    disk.setSyncMs(syncMs)
    const syncs = disk.syncs()
    const slow = await measure('slow disk', 8_000)
    expect(disk.syncs()).toBeGreaterThan(syncs)
    disk.setSyncMs(0)
    // The second time for those that were begun while the last slow sync was under way.
    await load.written()
    await load.written()
    const after = await measure('fast again', 3_000)
    await load.stop()
    console.log([before, slow, after].join('\n'))

    expect(streams.filter(({ isOver }) => isOver)).toEqual([])
    expect([slow, after].flatMap((later) => tooLate(before, later))).toEqual([])
    // The API, too, goes on reading, though what is written waits for the disk.
    for (const reads of ['read', 'read beside own writes']) {
      expect(slow.count(reads)).toBeGreaterThan(20)
      expect(slow.worst(reads)).toBeLessThan(syncMs / 2 + slow.ownStallMs)
    }
    expect(slow.worst('write')).toBeGreaterThan(syncMs)
    expect(after.worst('write')).toBeLessThan(syncMs / 2 + after.ownStallMs)

    expect(load.refused).toEqual([])
    const maps = await stage.client.list(configMapKind, { namespace })
    const held = maps.items.flatMap(({ data }) => Object.keys(data ?? {}).filter((key) => key.startsWith('first-')))
    const events = (await stage.client.list(eventKind, { namespace })).items
    const told = events.flatMap(({ reason, message }) => (reason === 'Busy' ? [message ?? ''] : []))
    const leases = (await stage.client.list(leaseKind, { namespace })).items
    const holders = leases.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity])
    expect(held.toSorted()).toEqual([...load.made.keys].toSorted())
    expect(told.toSorted()).toEqual([...load.made.messages].toSorted())
    expect(Object.fromEntries(holders)).toMatchObject(load.made.holders)
    for (const stream of streams) stream.leave()
  })

  it('goes on streaming beside a program that syncs large files into the same file system', async () => {
    const streams = startStreams()
    await begun(streams)
    const load = await startLoad('second')
    const before = await measure('alone', 4_000)
    const writer = spawn(process.execPath, ['-e', syncLargeFiles, join(stage.data, 'large')], { stdio: 'ignore' })
    onTestFinished(() => void writer.kill('SIGKILL'))
    const beside = await measure('beside a writer', 6_000)
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    await load.stop()
    console.log([before, beside].join('\n'))

    expect(load.refused).toEqual([])
    expect(streams.filter(({ isOver }) => isOver)).toEqual([])
    // How long a real disk takes is its own business; that nobody waits for it for seconds is ours.
    expect(beside.p99('event')).toBeLessThan(before.worst('event') + 1_000)
    for (const stream of streams) stream.leave()
  })

  function startStreams() {
    const { hostname: host, port } = new URL(stage.sluice.endpoints.gateway ?? '')
    return Array.from({ length: streamCount }, () => {
      const stream = new EventStream({ host, port }, 'awake', 100_000, (lateMs) => phase.add('event', lateMs))
      const seen = {
        isOver: false,
        get pieces() {
          return stream.pieces
        },
        get text() {
          return stream.text
        },
        leave: () => stream.leave(),
      }
      void stream.ended.then(() => (seen.isOver = true))
      onTestFinished(() => stream.leave())
      return seen
    })
  }

  async function begun(streams: ReturnType<typeof startStreams>): Promise<void> {
    let silent = streams
    await until(
      'the streams to begin',
      10_000,
      () => (silent = silent.filter(({ pieces }) => pieces === 0)).length === 0,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${silent.length} are silent: ${silent[0]?.text}`)
    })
  }

  /** What is done at that time counts in this phase, by when it is over. */
  async function measure(name: string, ms: number): Promise<PhaseFigures> {
    const figures = (phase = new PhaseFigures(name))
    const end = performance.now() + ms
    for (let last = performance.now(); last < end;) {
      await sleep(10)
      figures.ownStallMs = Math.max(figures.ownStallMs, performance.now() - last - 10)
      last = performance.now()
    }
    phase = new PhaseFigures('between')
    return figures
  }

  /** Requests and reads one after the other, and writes at the same rate whether or not those before are done. */
  async function startLoad(load: string) {
    const { gateway } = stage.sluice.endpoints
    // Each has as many connections as it may, and who reads must not wait for one that is held by a write.
    const connect = () => connectKubernetes(stage.sluice.kubeconfig)
    const [reader, patcher, holder, teller] = await Promise.all([connect(), connect(), connect(), connect()])
    onTestFinished(() => [reader, patcher, holder, teller].forEach((client) => client.close()))
    const stopping = new AbortController()
    onTestFinished(() => stopping.abort())
    const writing = new Set<Promise<void>>()
    const refused: unknown[] = []
    const made = { keys: [] as string[], messages: [] as string[], holders: {} as Record<string, string> }
    const timed = async (what: string, act: () => Promise<unknown>) => {
      const begun = performance.now()
      await act()
      phase.add(what, performance.now() - begun)
    }
    const repeat = async (everyMs: number, act: (turn: number) => Promise<void> | void) => {
      for (let turn = 0; !stopping.signal.aborted; turn += 1) {
        await act(turn)
        await sleep(everyMs)
      }
    }
    const answered = async (asking: Promise<Response>) => {
      const response = await asking
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status}: ${text}`)
    }
    const write = (act: () => Promise<unknown>) => {
      const one: Promise<void> = timed('write', act)
        .catch((error: unknown) => void refused.push(error))
        .finally(() => writing.delete(one))
      writing.add(one)
    }
    const writeAll = (turn: number) => {
      const name = names[turn % targets] ?? ''
      const ref = { namespace, name }
      const mark = `${load}-${turn}`
      made.keys.push(mark)
      made.messages.push(mark)
      made.holders[name] = mark
      write(() => patcher.patch(configMapKind, ref, { data: { [mark]: 'made' } }))
      write(() => holder.patch(leaseKind, ref, { spec: { holderIdentity: mark } }))
      const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', ...ref }
      const event = { metadata: { name: `${name}.${mark}`, namespace }, involvedObject, reason: 'Busy', message: mark }
      write(() => teller.create(eventKind, event))
    }
    const running = Promise.all([
      repeat(20, () => timed('models', () => answered(fetch(`${gateway}/openai/v1/models`)))),
      repeat(20, () => timed('chat', () => answered(stage.chat('awake')))),
      repeat(100, () => timed('read', () => reader.list(podKind, { namespace: modelNamespace }))),
      repeat(100, () => timed('read beside own writes', () => reader.list(configMapKind, { namespace }))),
      repeat(150, writeAll),
    ])
    // Who stops asks how it went; until then it is not unheard.
    running.catch(() => {})
    const written = async () => void (await Promise.all(writing))
    return {
      made,
      refused,
      written,
      async stop() {
        stopping.abort()
        await running
        await written()
      },
    }
  }
})

/** What took longer than before the disk was slow, beyond what the machine does to everybody. */
function tooLate(before: PhaseFigures, later: PhaseFigures): string[] {
  // Whatever was before, as on a machine that was busy then: who waits for a sync is found out.
  const most = (ms: number) => Math.min(ms, syncMs / 2) + later.ownStallMs
  return ['event', 'models', 'chat'].filter(
    (what) =>
      later.count(what) === 0 ||
      later.p99(what) > most(2 * before.p99(what) + 50) ||
      later.worst(what) > most(before.worst(what) + noiseMs),
  )
}

/** Over and over, until it is killed. */
const syncLargeFiles = `
  const { openSync, writeSync, fsyncSync } = require('node:fs')
  const file = openSync(process.argv[1], 'w')
  for (const block = Buffer.alloc(16 * 2 ** 20, 1); ; ) {
    for (let at = 0; at < 8; at++) writeSync(file, block, 0, block.length, at * block.length)
    fsyncSync(file)
  }
`
