import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { NodePodAccess } from '../pod-access.ts'
import { PodLogs } from '../logs/pod-logs.ts'
import type { ProcessRuntime } from '../process-runtime.ts'
import { RuntimeStage, Sink, never } from './running-containers.fixture.ts'

const permitted = isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is)
const patience = { timeout: 20_000 }
const interactive = { stdin: true, tty: true }

let stage: RuntimeStage
beforeEach(() => {
  stage = new RuntimeStage('namespaces')
})
afterEach(() => stage.close())

function accessTo(runtime: ProcessRuntime): NodePodAccess {
  const logs = new PodLogs({ dataDir: stage.dataDir, hub: stage.hub, clock: systemClock })
  return new NodePodAccess({ logs, runtime, clock: systemClock })
}

/** Somebody at a keyboard, who sees the output and can leave. */
function person(columns = 0, rows = 0) {
  const [stdin, stdout, leaving] = [new PassThrough(), new Sink(), new AbortController()]
  const sizes = (async function* () {
    if (columns > 0) yield { columns, rows }
  })()
  return { stdin, stdout, leaving, streams: { stdin, stdout, terminal: sizes }, sees: () => stdout.text }
}

describe.skipIf(!permitted)('a container with a terminal', () => {
  it('reads and writes it, knows its kind, and has its user own it', async () => {
    const script = 'tty; test -t 0 && test -t 1 && test -t 2 && echo all; echo $TERM; stat -Lc %u /dev/stdin; stty size'
    const said = await stage.run(
      stage.launch(script, { tty: true, securityContext: { runAsUser: 1000, runAsGroup: 1000 } }),
    )
    // As container runtimes log a terminal's output.
    expect(said).toBe('/dev/pts/0\r\nall\r\nxterm\r\n1000\r\n24 80\r')
  })

  it('is attached to: each key as it is typed, each answer before the end of a line, in the size of the client', async () => {
    const runtime = stage.runtime()
    const script = `printf 'name? '; read name; until [ "$(stty size)" = "33 101" ]; do sleep 0.01; done; stty size; printf "hello $name"; read more; exit 3`
    const launch = stage.launch(script, interactive)
    const running = await runtime.start(launch, never)
    const { stdin, streams, sees } = person(101, 33)
    const attached = accessTo(runtime).attach(launch.pod, 'main', streams, never)
    stdin.write('Ada\n')
    await expect.poll(sees, patience).toContain('33 101\r\nhello Ada')
    stdin.write('\n')
    // Always 0, as the kubelet answers; the exit code is in the Pod's status.
    expect(await attached).toEqual({ exitCode: 0 })
    expect(await running.exited).toMatchObject({ exitCode: 3 })
  })

  it('goes on when the client leaves, who can come back, also after the node was killed', async () => {
    const first = stage.runtime()
    const launch = stage.launch('while read line; do echo "got $line"; done', interactive)
    await first.start(launch, never)
    const one = person()
    const attached = accessTo(first).attach(launch.pod, 'main', one.streams, one.leaving.signal)
    one.stdin.write('a\n')
    await expect.poll(one.sees, patience).toContain('got a\r\n')
    one.leaving.abort()
    await attached
    first.close()
    const second = stage.runtime()
    const [adopted] = await second.adopt()
    const two = person()
    const back = accessTo(second).attach(launch.pod, 'main', two.streams, never)
    two.stdin.write('b\n')
    await expect.poll(two.sees, patience).toContain('got b\r\n')
    // Ctrl-D.
    two.stdin.write('\x04')
    expect(await back).toEqual({ exitCode: 0 })
    expect(await adopted?.exited).toMatchObject({ exitCode: 0 })
    expect(stage.said(launch.pod)).toBe('a\r\ngot a\r\nb\r\ngot b\r')
  })

  it('is interrupted by keys, and hangs up nobody but itself', async () => {
    const runtime = stage.runtime()
    const launch = stage.launch(
      'trap "echo interrupted; exit 7" INT; echo ready; while :; do sleep 0.05; done',
      interactive,
    )
    const running = await runtime.start(launch, never)
    await expect.poll(() => stage.said(launch.pod), patience).toContain('ready')
    const { stdin, streams } = person()
    const attached = accessTo(runtime).attach(launch.pod, 'main', streams, never)
    stdin.write('\x03')
    await attached
    expect(await running.exited).toMatchObject({ exitCode: 7 })
  })

  it('is asked to end as others are', async () => {
    const runtime = stage.runtime()
    const launch = stage.launch('trap "echo asked; exit 9" TERM; echo ready; while :; do sleep 0.05; done', {
      tty: true,
    })
    const running = await runtime.start(launch, never)
    await expect.poll(() => stage.said(launch.pod), patience).toContain('ready')
    await runtime.stop(launch.pod.metadata.uid ?? '', 60_000)
    expect(await running.exited).toMatchObject({ exitCode: 9 })
    expect(stage.said(launch.pod)).toContain('asked')
  })

  it('ends with its program, though others go on writing to the terminal', async () => {
    const launch = stage.launch('(trap "" HUP; while :; do echo noise; done) & sleep 0.2; exit 5', { tty: true })
    const running = await stage.runtime().start(launch, never)
    expect(await running.exited).toMatchObject({ exitCode: 5 })
  })

  it('without input waits for none', async () => {
    const launch = stage.launch('echo asks; read line && echo read || echo "nothing $?"', { tty: true })
    const runtime = stage.runtime()
    await runtime.start(launch, never)
    await expect.poll(() => stage.said(launch.pod), patience).toContain('asks')
    // The program sleeps while it reads. If it no longer read, it would have ended.
    const untilReading = ['/bin/sh', '-c', 'until grep -q "^State:.S" /proc/2/status; do :; done']
    await runtime.exec(launch.pod.metadata.uid ?? '', 'main', untilReading, {}, never)
    expect(stage.said(launch.pod).trim()).toBe('asks')
    await runtime.stop(launch.pod.metadata.uid ?? '', 0)
  })

  it('is refused a terminal where it has none, and one that it did not ask for', async () => {
    const runtime = stage.runtime()
    const launch = stage.launch('exec sleep 3600')
    await runtime.start(launch, never)
    const { stdin: _stdin, ...streams } = person().streams
    await expect(accessTo(runtime).attach(launch.pod, 'main', streams, never)).rejects.toThrow('no terminal')
  })
})

describe.skipIf(!permitted)('a container that reads', () => {
  it('goes on reading after a client has typed all it had, who has left then', async () => {
    const runtime = stage.runtime()
    const launch = stage.launch('while read line; do echo "got $line"; done; echo over', { stdin: true })
    const running = await runtime.start(launch, never)
    for (const line of ['one', 'two']) {
      const [stdin, stdout] = [PassThrough.from([Buffer.from(`${line}\n`)]), new Sink()]
      expect(await accessTo(runtime).attach(launch.pod, 'main', { stdin, stdout }, never)).toEqual({ exitCode: 0 })
    }
    await expect.poll(() => stage.said(launch.pod), patience).toBe('got one\ngot two')
    await runtime.stop(launch.pod.metadata.uid ?? '', 0)
    expect(await running.exited).toMatchObject({ exitCode: 137 })
  })

  it('once, sees the end of it when the first client leaves, and not when the node is killed before that', async () => {
    const first = stage.runtime()
    const launch = stage.launch('cat; echo over', { stdin: true, stdinOnce: true })
    await first.start(launch, never)
    first.close()
    const second = stage.runtime()
    const [adopted] = await second.adopt()
    expect(stage.said(launch.pod)).toBe('')
    const stdout = new Sink()
    const stdin = PassThrough.from([Buffer.from('typed\n')])
    expect(await accessTo(second).attach(launch.pod, 'main', { stdin, stdout }, never)).toEqual({ exitCode: 0 })
    expect(stdout.text).toBe('typed\nover\n')
    expect(await adopted?.exited).toMatchObject({ exitCode: 0 })
  })
})

describe('a container that asks for a terminal', () => {
  it('is refused where there are no namespaces', async () => {
    await stage.close()
    stage = new RuntimeStage('paths')
    await expect(stage.runtime().start(stage.launch('true', { tty: true }), never)).rejects.toThrow(
      'tty needs namespaces',
    )
  })
})
