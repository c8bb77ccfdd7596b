import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cgroups } from '../isolation/cgroups.ts'
import { machineEntry } from '../isolation/container-entry.fixture.ts'
import { detectIsolation } from '../isolation/detect-isolation.ts'
import { ContainerShell } from '../isolation/container-shell.ts'
import { namespaceCommand } from '../isolation/isolated-command.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { systemClock } from '../../foundation/clock.ts'
import { RuntimeStage, never } from './running-containers.fixture.ts'

let stage: RuntimeStage
afterEach(() => stage.close())

const { support } = Cgroups.onThisMachine('test')

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`the end of a container ${name}`, () => {
    beforeEach(() => {
      stage = new RuntimeStage(mode)
    })

    const exitOf = async (script: string, container: Record<string, unknown> = {}) =>
      (await stage.runtime().start(stage.launch(script, container), never)).exited

    it('carries the message the container left', async () => {
      expect(await exitOf('echo "disk is full" >/dev/termination-log; exit 1')).toMatchObject({
        exitCode: 1,
        reason: 'Error',
        message: 'disk is full\n',
      })
      const own = { terminationMessagePath: '/sluice-test/said' }
      expect(await exitOf('echo fine >/sluice-test/said', own)).toMatchObject({ exitCode: 0, message: 'fine\n' })
    })

    it('carries the last lines of the log where that is asked for and it failed', async () => {
      const container = { terminationMessagePolicy: 'FallbackToLogsOnError' }
      const script = 'for n in $(seq 100); do echo line $n; done; echo cannot load the model >&2; exit 1'
      const { message = '' } = await exitOf(script, container)
      expect(message.split('\n')).toHaveLength(80)
      expect(message.endsWith('line 100\ncannot load the model')).toBe(true)
      expect((await exitOf('echo fine', container)).message).toBeUndefined()
      expect((await exitOf('echo quiet; exit 1')).message).toBeUndefined()
    })

    it('tells which signal ended it', async () => {
      const killed = (signal: string) => {
        const script = `process.kill(process.pid, '${signal}'); setInterval(() => {}, 1000)`
        return exitOf('', { command: [process.execPath, '-e', script], args: [] })
      }
      expect(await killed('SIGTERM')).toMatchObject({ exitCode: 143, signal: 15, message: 'ended by SIGTERM' })
      expect(await killed('SIGKILL')).toMatchObject({ exitCode: 137, signal: 9, reason: 'Error' })
    })

    it('adds nothing to what the container said', async () => {
      const runtime = stage.runtime()
      const launch = stage.launch('echo up; exec sleep 1000')
      const running = await runtime.start(launch, never)
      await expect.poll(() => stage.said(launch.pod)).toBe('up')
      await runtime.stop(running.podUid, 5000)
      expect(stage.said(launch.pod)).toBe('up')
    })

    it.skipIf(!support.memory)('tells when it was memory that it lacked', async () => {
      const runtime = stage.runtime()
      const command = [process.execPath, '-e', 'const a = []; for (;;) a.push(Buffer.alloc(1e6, 1))']
      const launch = stage.launch('', { command, args: [], resources: { limits: { memory: '96Mi' } } })
      const running = await runtime.start(launch, never)
      expect(await running.exited).toMatchObject({ exitCode: 137, reason: 'OOMKilled' })
    })

    it.skipIf(!support.memory)('comes when all together have more memory than the cluster may', async () => {
      const runtime = stage.runtime()
      runtime.limitTogether({ memoryBytes: 200 * 2 ** 20 })
      const command = [process.execPath, '-e', 'globalThis.held = Buffer.alloc(8e7, 1); setInterval(() => {}, 1000)']
      // None of them has a limit, and each would fit.
      const launches = [1, 2, 3].map(() => stage.launch('', { command, args: [] }))
      const running = await Promise.all(launches.map((launch) => runtime.start(launch, never)))
      const first = await Promise.race(running.map(({ exited }) => exited))
      expect(first).toMatchObject({ exitCode: 137, reason: 'OOMKilled' })
      await Promise.all(running.map(({ podUid }) => runtime.stop(podUid, 0)))
    })
  })
}

describe('the processes of a container', () => {
  beforeEach(() => {
    stage = new RuntimeStage('detect')
  })

  it.skipIf(!support.pids || isolationModes[1]?.permitted !== true)(
    'are so many at most, and it can see that',
    async () => {
      const most = Math.min(16_384, Math.floor(Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8')) / 4))
      const launch = stage.launch('cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null')
      expect(await stage.run(launch)).toBe(String(most))
    },
  )
})

describe('the exit code of a container', () => {
  beforeEach(() => {
    stage = new RuntimeStage('detect')
  })

  it.skipIf(isolationModes[1]?.permitted !== true)('is known though another program started it', async () => {
    const first = stage.runtime()
    const launch = stage.launch(
      'until [ -e /sluice-test/go ]; do sleep 0.02; done; exit 6',
      {
        volumeMounts: [{ name: 'v', mountPath: '/sluice-test' }],
      },
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
    )
    await first.start(launch, never)
    first.close()
    const [adopted] = await stage.runtime().adopt()
    writeFileSync(join(stage.dataDir, 'volumes/c/go'), '')
    expect(await adopted?.exited).toMatchObject({ exitCode: 6, reason: 'Error' })
  })
})

describe('a part of a volume that is swapped while it is mounted', () => {
  beforeEach(() => {
    stage = new RuntimeStage('detect')
  })

  it.skipIf(isolationModes[1]?.permitted !== true)('keeps the container from starting', async () => {
    const root = join(stage.dataDir, 'volume')
    mkdirSync(root)
    symlinkSync('/etc', join(root, 'part'))
    const isolation = await detectIsolation(join(stage.dataDir, 'try'), 'namespaces')
    if (isolation.mode !== 'namespaces') throw new Error('no namespaces')
    const mount = { mountPath: '/sluice-test', folder: join(root, 'part'), root, readOnly: false, partial: true }
    const { tools } = isolation
    const output = join(stage.dataDir, 'output')
    const script = machineEntry(tools, stage.dataDir, { words: ['/bin/echo', 'ran'], output }, [mount])
    const report = await new ContainerShell(namespaceCommand(tools, stage.dataDir)).run(script, systemClock)
    expect(report).toContain('/sluice-test changed while it was mounted')
    expect(readFileSync(output, 'utf8')).toBe('')
  })
})
