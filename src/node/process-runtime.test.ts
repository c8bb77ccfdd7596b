import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { ImageStore } from './images/image-store.ts'
import type { IsolationChoice } from './isolation/detect-isolation.ts'
import { isolationModes } from './isolation/permitted-modes.fixture.ts'
import { podLogsFolder } from './logs/log-files.ts'
import { LogHub } from './logs/log-hub.ts'
import { describePodRuntime, launchOf, uidOf } from './pod-runtime.contract.ts'
import { isAlive, processesMarked, readBootId, readProcess } from './processes/process-identity.ts'
import { ProcessRuntime } from './process-runtime.ts'

const image = 'registry.test/sluice/script:1'
const images = new ImageStore({ 'registry.test/sluice/script': { command: [process.execPath, '-e'] } })
const never = new AbortController().signal

let dataDir = ''
let mode: IsolationChoice = 'paths'
let open: ProcessRuntime[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-node-'))
  open = []
})

afterEach(async () => {
  for (const runtime of open) runtime.close()
  // With a new runtime, which finds whatever a test left behind.
  const last = makeRuntime()
  const left = await last.adopt()
  await Promise.all(left.map(({ podUid }) => last.stop(podUid, 0)))
  const marked = processesMarked(`SLUICE_NODE_ID=${last.nodeId}`)
  last.close()
  rmSync(dataDir, { recursive: true, force: true })
  if (marked.length > 0) throw new Error(`processes are left: ${marked.map(({ pid }) => pid).join(', ')}`)
})

function makeRuntime(isolation: IsolationChoice = mode): ProcessRuntime {
  const options = { dataDir, images, clock: systemClock, log: silentLogger, logHub: new LogHub() }
  const runtime = new ProcessRuntime({ ...options, isolation })
  open.push(runtime)
  return runtime
}

function logOf(container = 'main', attempt = 0): string {
  const [pod = ''] = readdirSync(podLogsFolder(dataDir))
  return readFileSync(join(podLogsFolder(dataDir), pod, container, `${attempt}.log`), 'utf8')
}

for (const { mode: tested, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`${name}:`, () => {
    beforeEach(() => {
      mode = tested
    })
    describeProcessRuntime(tested)
  })
}

function describeProcessRuntime(tested: IsolationChoice): void {
  describePodRuntime('ProcessRuntime', () => ({
    runtime: makeRuntime(),
    scriptImage: image,
    restarted() {
      for (const runtime of open) runtime.close()
      return makeRuntime()
    },
  }))

  describe('ProcessRuntime', () => {
    it('writes what a container says into its log, with times', async () => {
      const runtime = makeRuntime()
      const running = await runtime.start(launchOf(image, `console.log('one\\ntwo'); console.error('three')`), never)
      await running.exited
      const lines = logOf().trimEnd().split('\n')
      expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual(['stdout F one', 'stdout F two', 'stdout F three'])
      expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /)
    })

    it('gives a container its variables, address and cards, and nothing of our own environment', async () => {
      process.env['SLUICE_TEST_SECRET'] = 'leaked'
      const env = [
        { name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'URL', value: 'http://$(POD_IP):80/$(WHO)' },
        { name: 'CUDA_VISIBLE_DEVICES', value: '9' },
      ]
      const launch = { ...launchOf(image, 'console.log(JSON.stringify(process.env))', { env }), cards: [0, 2] }
      const running = await makeRuntime().start(launch, never)
      await running.exited
      delete process.env['SLUICE_TEST_SECRET']
      const seen: unknown = JSON.parse(logOf().split(' F ')[1] ?? '')
      expect(seen).toMatchObject({ WHO: 'web', URL: 'http://127.64.200.1:80/web', CUDA_VISIBLE_DEVICES: '0,2' })
      expect(seen).not.toHaveProperty('SLUICE_TEST_SECRET')
    })

    it('mounts a claim by its real folder', async () => {
      mkdirSync(join(dataDir, 'volumes', 'userdata', 'models'), { recursive: true })
      writeFileSync(join(dataDir, 'volumes', 'userdata', 'models', 'a.txt'), 'weights')
      const launch = launchOf(image, `console.log(require('fs').readFileSync(process.env.FILE, 'utf8'))`, {
        env: [{ name: 'FILE', value: '/data/models/a.txt' }],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'userdata' } }],
      })
      await (
        await makeRuntime().start(launch, never)
      ).exited
      expect(logOf()).toContain('weights')
    })

    it.skipIf(tested === 'namespaces')(
      'refuses a path that leaves its claim through a link, before anything runs',
      async () => {
        mkdirSync(join(dataDir, 'volumes', 'userdata'), { recursive: true })
        symlinkSync('/etc', join(dataDir, 'volumes', 'userdata', 'models'))
        const launch = launchOf(image, '/data/models/passwd', {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'userdata' } }],
        })
        const starting = makeRuntime().start(launch, never)
        await expect(starting).rejects.toMatchObject({ reason: 'CreateContainerConfigError' })
        await expect(starting).rejects.toThrow('leaves its volume through a link')
      },
    )

    it('says so when the program is not there', async () => {
      const starting = makeRuntime().start(launchOf(image, '', { command: ['/no/such/program'] }), never)
      await expect(starting).rejects.toMatchObject({ reason: 'RunContainerError' })
    })

    it('kills a container that ignores the request, with everything it started', async () => {
      const runtime = makeRuntime()
      const script = `
      process.on('SIGTERM', () => {})
      const child = require('child_process').spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('child')"], { stdio: 'inherit' })
      setInterval(() => {}, 1000)`
      const launch = launchOf(image, script)
      const running = await runtime.start(launch, never)
      await expect.poll(() => logOf()).toContain('child')
      await runtime.stop(uidOf(launch), 100)
      expect(await running.exited).toMatchObject({ exitCode: 137, signal: 9 })
      expect(processesMarked(`SLUICE_POD_UID=${uidOf(launch)}`)).toEqual([])
    })

    it('shortens the grace when asked again', async () => {
      const runtime = makeRuntime()
      const launch = launchOf(image, `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')`)
      const running = await runtime.start(launch, never)
      await expect.poll(() => logOf()).toContain('up')
      const patient = runtime.stop(uidOf(launch), 3_600_000)
      await runtime.stop(uidOf(launch), 0)
      await patient
      expect(await running.exited).toMatchObject({ signal: 9 })
    })

    it('ends what a leader that died leaves behind', async () => {
      const script = `
      const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
      child.on('spawn', () => process.exit(0))`
      const launch = launchOf(image, script)
      const running = await makeRuntime().start(launch, never)
      expect(await running.exited).toMatchObject({ exitCode: 0 })
      expect(processesMarked(`SLUICE_POD_UID=${uidOf(launch)}`)).toEqual([])
    })

    it('survives kill -9 of the program that started it, is adopted, and its log goes on', async () => {
      const script = `let n = 0; setInterval(() => console.log('tick ' + ++n), 20)`
      const program = `
      import { ProcessRuntime } from ${JSON.stringify(join(import.meta.dirname, 'process-runtime.ts'))}
      import { ImageStore } from ${JSON.stringify(join(import.meta.dirname, 'images/image-store.ts'))}
      import { LogHub } from ${JSON.stringify(join(import.meta.dirname, 'logs/log-hub.ts'))}
      import { systemClock } from ${JSON.stringify(join(import.meta.dirname, '../foundation/clock.ts'))}
      import { silentLogger } from ${JSON.stringify(join(import.meta.dirname, '../foundation/log.ts'))}
      const images = new ImageStore({ 'registry.test/sluice/script': { command: [process.execPath, '-e'] } })
      const runtime = new ProcessRuntime({ dataDir: ${JSON.stringify(dataDir)}, images, clock: systemClock, log: silentLogger, logHub: new LogHub(), isolation: ${JSON.stringify(mode)} })
      const container = { name: 'main', image: ${JSON.stringify(image)}, args: [${JSON.stringify(script)}] }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u-1' }, spec: { containers: [container] } }
      const running = await runtime.start({ pod, container, attempt: 0, podIP: '127.64.200.2', cards: [0] }, new AbortController().signal)
      console.log(running.pid)`
      const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [printed] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(printed.toString())
      await expect.poll(() => logOf()).toContain('tick 2')
      parent.kill('SIGKILL')
      await once(parent, 'exit')

      const runtime = makeRuntime()
      const [adopted] = await runtime.adopt()
      expect(adopted).toMatchObject({ podUid: 'u-1', pid, cards: [0], podIP: '127.64.200.2' })
      const seen = logOf().split('\n').length
      await expect.poll(() => logOf().split('\n').length).toBeGreaterThan(seen)
      await runtime.stop('u-1', 5000)
      expect(readProcess(pid)?.state ?? 'gone').toMatch(/gone|Z/)
      const ticks = [...logOf().matchAll(/tick (\d+)/g)].map(([, number]) => Number(number))
      expect(ticks).toEqual(ticks.map((_, index) => index + 1))
    })

    it('never signals a process that only has the pid of one it knew', async () => {
      const foreign = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
        detached: true,
        stdio: 'ignore',
      })
      await once(foreign, 'spawn')
      const pid = foreign.pid ?? 0
      const container = { pid, startTime: '1', attempt: 0, startedAt: 0, cards: [] }
      const record = { uid: 'u-2', namespace: 'default', name: 'web', podIP: '127.64.0.9', bootId: readBootId() }
      mkdirSync(join(dataDir, 'node', 'pods'), { recursive: true })
      const path = join(dataDir, 'node', 'pods', 'u-2.json')
      writeFileSync(path, JSON.stringify({ ...record, containers: { main: container } }))
      const runtime = makeRuntime()
      expect(await runtime.adopt()).toEqual([])
      await runtime.stop('u-2', 0)
      const facts = readProcess(pid)
      expect(facts && isAlive(facts)).toBe(true)
      foreign.kill('SIGKILL')
      await once(foreign, 'exit')
    })

    it("ends its own process that has no record, and leaves another node's alone", async () => {
      const first = makeRuntime()
      const start = async (marks: Record<string, string>) => {
        const env = { ...process.env, ...marks }
        const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
          env,
          detached: true,
          stdio: 'ignore',
        })
        await once(child, 'spawn')
        return child
      }
      const ours = await start({ SLUICE_NODE_ID: first.nodeId, SLUICE_POD_UID: 'nobody' })
      const shell = await start({ SLUICE_SHELL_OF: first.nodeId })
      const theirs = await start({ SLUICE_NODE_ID: 'another-node', SLUICE_POD_UID: 'nobody' })
      await expect.poll(() => processesMarked(`SLUICE_NODE_ID=${first.nodeId}`).length).toBe(1)
      await expect.poll(() => processesMarked(`SLUICE_SHELL_OF=${first.nodeId}`).length).toBe(1)
      const ended = Promise.all([once(ours, 'exit'), once(shell, 'exit')])
      await makeRuntime().adopt()
      expect(await ended).toEqual([
        [null, 'SIGKILL'],
        [null, 'SIGKILL'],
      ])
      expect(theirs.exitCode ?? theirs.signalCode).toBeNull()
      theirs.kill('SIGKILL')
      await once(theirs, 'exit')
    })

    it('keeps the log of the attempt before, and clears the disk of Pods that are gone', async () => {
      const runtime = makeRuntime()
      const launch = launchOf(image, 'console.log(1)')
      for (const attempt of [0, 1, 2]) await (await runtime.start({ ...launch, attempt }, never)).exited
      const [folder = ''] = readdirSync(podLogsFolder(dataDir))
      expect(readdirSync(join(podLogsFolder(dataDir), folder, 'main')).sort()).toEqual(['1.log', '2.log'])
      await runtime.retain(new Set([uidOf(launch)]))
      expect(readdirSync(podLogsFolder(dataDir))).toHaveLength(1)
      await runtime.retain(new Set())
      expect(readdirSync(podLogsFolder(dataDir))).toEqual([])
      expect(readdirSync(join(dataDir, 'node', 'scratch'))).toEqual([])
    })
  })
}
