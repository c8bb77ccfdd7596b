import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PodAccess } from '../apiserver/pods/pod-access.ts'
import { systemClock } from '../foundation/clock.ts'
import { isExecutable } from './isolation/detect-isolation.ts'
import { isolationModes } from './isolation/permitted-modes.fixture.ts'
import { NodePodAccess } from './pod-access.ts'
import { PodLogs } from './logs/pod-logs.ts'
import { processesMarked, readProcess } from './processes/process-identity.ts'
import type { ProcessRuntime } from './process-runtime.ts'
import { RuntimeStage, Sink, never, podIP } from './containers/running-containers.fixture.ts'

let stage: RuntimeStage
afterEach(() => stage.close())

/** Typed as the API server's interface, so that the compiler checks that both match. */
function accessTo(runtime: ProcessRuntime): Required<PodAccess> {
  const logs = new PodLogs({ dataDir: stage.dataDir, hub: stage.hub, clock: systemClock })
  return new NodePodAccess({ logs, runtime, clock: systemClock })
}

const forever = 'echo up; while :; do sleep 1; done'

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`NodePodAccess ${name}`, () => {
    beforeEach(() => {
      stage = new RuntimeStage(mode)
    })

    async function running(
      script: string,
      container: Record<string, unknown> = {},
      spec: Record<string, unknown> = {},
    ) {
      const runtime = stage.runtime()
      const launch = stage.launch(script, container, spec)
      const started = await runtime.start(launch, never)
      const access = accessTo(runtime)
      const exec = async (words: string[], input?: string) => {
        const [stdout, stderr] = [new Sink(), new Sink()]
        const stdin = input === undefined ? undefined : PassThrough.from([Buffer.from(input)])
        const result = await access.exec(launch.pod, { container: 'main', words }, { stdin, stdout, stderr }, never)
        return { ...result, stdout: stdout.text, stderr: stderr.text }
      }
      return { runtime, launch, started, access, exec }
    }

    it('measures what a container uses, with all its processes', async () => {
      const { access, started } = await running('(while :; do :; done) & while :; do sleep 1; done')
      const { containers, windowMs, machine } = await access.usage()
      expect(containers).toEqual([
        { podUid: started.podUid, container: 'main', cpus: expect.any(Number), memoryBytes: expect.any(Number) },
      ])
      expect(windowMs).toBeGreaterThanOrEqual(1_000)
      expect(containers[0]?.cpus).toBeGreaterThan(0)
      expect(containers[0]?.memoryBytes).toBeGreaterThan(2 ** 19)
      // It may have only a share of the machine.
      expect(machine).toBeUndefined()
    })

    it("runs a program with the container's variables, folder and mounts", async () => {
      const container = {
        env: [{ name: 'COLOR', value: 'blue' }],
        workingDir: '/sluice-test/data',
        volumeMounts: [{ name: 'v', mountPath: '/sluice-test/data' }],
      }
      const { exec } = await running(forever, container, { volumes: [{ name: 'v', emptyDir: {} }] })
      expect(await exec(['sh', '-c', 'echo "$COLOR"; echo err >&2; exit 3'])).toEqual({
        exitCode: 3,
        stdout: 'blue\n',
        stderr: 'err\n',
      })
      await exec(['sh', '-c', 'echo written >here'])
      expect(await exec(['cat', '/sluice-test/data/here'])).toMatchObject({ exitCode: 0, stdout: 'written\n' })
    })

    it('hands over what is typed, to its end', async () => {
      const { exec } = await running(forever)
      expect(await exec(['tr', 'a-z', 'A-Z'], 'hello\n')).toMatchObject({ exitCode: 0, stdout: 'HELLO\n' })
      const large = 'x'.repeat(300_000)
      expect((await exec(['cat'], large)).stdout).toHaveLength(large.length)
    })

    it('kills the program when the client leaves, and when the container ends', async () => {
      const { access, launch, runtime } = await running(forever)
      const client = new AbortController()
      const stdout = new Sink()
      const words = ['sh', '-c', 'echo on; sleep 999']
      const left = access.exec(launch.pod, { container: 'main', words }, { stdout }, client.signal)
      await expect.poll(() => stdout.text).toBe('on\n')
      client.abort()
      expect(await left).toMatchObject({ exitCode: 137 })
      const ended = access.exec(launch.pod, { container: 'main', words: ['sleep', '1000'] }, {}, never)
      await expect.poll(() => sleepers(launch.pod.metadata.uid)).toBeGreaterThan(0)
      await runtime.stop(launch.pod.metadata.uid ?? '', 0)
      expect(await ended).toMatchObject({ exitCode: 137 })
      expect(processesMarked(`SLUICE_POD_UID=${launch.pod.metadata.uid}`)).toEqual([])
    })

    it('refuses what does not run or does not exist', async () => {
      const { access, launch, exec, runtime } = await running(forever)
      const other = access.exec(launch.pod, { container: 'other', words: ['true'] }, {}, never)
      await expect(other).rejects.toThrow('container other is not valid')
      await runtime.stop(launch.pod.metadata.uid ?? '', 0)
      await expect(exec(['true'])).rejects.toThrow('container not found ("main")')
    })

    it.skipIf(!isExecutable('/usr/bin/script'))('gives a terminal of the right size', async () => {
      const { access, launch } = await running(forever)
      const stdout = new Sink()
      const sizes = (async function* () {
        yield { columns: 101, rows: 33 }
      })()
      const words = ['sh', '-c', 'tty; until [ "$(stty size)" = "33 101" ]; do sleep 0.02; done; stty size; exit 5']
      const streams = { stdin: new PassThrough(), stdout, terminal: sizes }
      expect(await access.exec(launch.pod, { container: 'main', words }, streams, never)).toEqual({ exitCode: 5 })
      expect(stdout.text).toMatch(/^\/dev\/pts\/\d+\r\n33 101\r\n/)
    })

    it.skipIf(!isExecutable('/usr/bin/script'))(
      'kills what runs in a terminal, even what does not hang up',
      async () => {
        const { access, launch } = await running(forever)
        const client = new AbortController()
        const stdout = new Sink()
        const words = ['sh', '-c', 'trap "" HUP; echo on; while :; do sleep 1000; done']
        const terminal = (async function* () {})()
        const left = access.exec(launch.pod, { container: 'main', words }, { stdout, terminal }, client.signal)
        await expect.poll(() => sleepers(launch.pod.metadata.uid)).toBe(1)
        client.abort()
        await left
        await expect.poll(() => sleepers(launch.pod.metadata.uid)).toBe(0)
      },
    )

    it('attaches to what a container says from now on, and to what it reads', async () => {
      const script = 'echo before; read line; echo "got $line"; exit 4'
      const { access, launch, started } = await running(script, { stdin: true })
      await expect.poll(() => stage.said(launch.pod)).toBe('before')
      const stdout = new Sink()
      const stdin = new PassThrough()
      const attached = access.attach(launch.pod, 'main', { stdin, stdout }, never)
      stdin.write('hello\n')
      expect(await attached).toEqual({ exitCode: 0 })
      expect(await started.exited).toMatchObject({ exitCode: 4 })
      expect(stdout.text).toBe('got hello\n')
    })

    it('lets a container that reads once see the end of what the client typed', async () => {
      const { access, launch, started } = await running('cat; echo over', { stdin: true, stdinOnce: true })
      const stdout = new Sink()
      const stdin = PassThrough.from([Buffer.from('typed\n')])
      await access.attach(launch.pod, 'main', { stdin, stdout }, never)
      expect(await started.exited).toMatchObject({ exitCode: 0 })
      expect(stage.said(launch.pod)).toBe('typed\nover')
    })

    it('says of a container whose program has just ended that it is not there, and nothing else', async () => {
      const { access, launch } = await running(forever, { stdin: true })
      const { uid = '', name } = launch.pod.metadata
      const input = join(stage.dataDir, 'node/scratch', uid, 'containers/main/stdin')
      // A FIFO that nobody reads, as after the container's end.
      rmSync(input)
      execFileSync('mkfifo', [input])
      const attached = access.attach(launch.pod, 'main', { stdin: new PassThrough() }, never)
      await expect(attached).rejects.toThrow(new RegExp(`^container main not found in pod ${name}_\\w*$`))
    })

    it('leaves the container alone when an attached client leaves', async () => {
      const { access, launch, started } = await running(forever)
      const client = new AbortController()
      const attached = access.attach(launch.pod, 'main', { stdout: new Sink() }, client.signal)
      client.abort()
      expect(await attached).toEqual({ exitCode: 0 })
      expect(readProcess(started.pid)?.state).toMatch(/[SRD]/)
      await expect(access.attach(launch.pod, 'main', { stdin: new PassThrough() }, never)).rejects.toThrow('stdin')
    })

    it('connects to a port of the Pod', async () => {
      const { access, launch } = await running(forever)
      const server = createServer((socket) => socket.end('from the Pod')).listen(0, podIP)
      await once(server, 'listening')
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      const connection = await access.connect(launch.pod, port, never)
      expect(await text(connection)).toBe('from the Pod')
      // The Pod has finished sending, but the client may go on.
      expect(connection.writable).toBe(true)
      connection.end()
      server.close()
      await once(server, 'close')
      await expect(access.connect(launch.pod, port, never)).rejects.toThrow('connect: connection refused')
    })
  })
}

/** How many processes of the Pod run a long sleep. */
function sleepers(uid: string | undefined): number {
  return processesMarked(`SLUICE_POD_UID=${uid}`).filter(
    ({ pid }) => commandOf(pid) === ['sleep', '1000', ''].join('\0'),
  ).length
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
