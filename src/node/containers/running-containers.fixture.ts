import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { ImageStore } from '../images/image-store.ts'
import type { IsolationChoice } from '../isolation/detect-isolation.ts'
import { parseRecord } from '../logs/log-format.ts'
import { podLogsFolder } from '../logs/log-files.ts'
import { LogHub } from '../logs/log-hub.ts'
import type { ContainerLaunch } from '../pod-runtime.ts'
import { processesMarked } from '../processes/process-identity.ts'
import { ProcessRuntime, type ProcessRuntimeOptions } from '../process-runtime.ts'

export const never = new AbortController().signal
export const podIP = '127.64.200.7'

/** A runtime with its own data directory and an image that runs its first argument as a shell script. */
export class RuntimeStage {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'sluice-stage-'))
  readonly hub = new LogHub()
  readonly #mode: IsolationChoice
  readonly #open: ProcessRuntime[] = []

  constructor(mode: IsolationChoice) {
    this.#mode = mode
  }

  runtime(options: Partial<ProcessRuntimeOptions> = {}): ProcessRuntime {
    const images = new ImageStore({ 'r/sh': { command: ['/bin/sh', '-c'] } })
    const runtime = new ProcessRuntime({
      dataDir: this.dataDir,
      images,
      clock: systemClock,
      log: silentLogger,
      logHub: this.hub,
      isolation: this.#mode,
      ...options,
    })
    this.#open.push(runtime)
    return runtime
  }

  launch(script: string, container: Record<string, unknown> = {}, spec: Record<string, unknown> = {}): ContainerLaunch {
    const pod = podSchema.parse({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default', uid: randomUUID() },
      spec: { containers: [{ name: 'main', image: 'r/sh', args: [script], ...container }], ...spec },
      status: { phase: 'Running', podIP },
    })
    const [main] = pod.spec.containers
    if (!main) throw new Error('no container')
    return { pod, container: main, attempt: 0, podIP, cards: [] }
  }

  /** The container's output so far. */
  said({ metadata }: Pod, container = 'main'): string {
    const folder = podLogsFolder(this.dataDir)
    const pod = readdirSync(folder).find((name) => name.endsWith(`_${metadata.uid}`)) ?? ''
    const lines = readFileSync(join(folder, pod, container, '0.log'), 'utf8').split('\n')
    return lines.flatMap((line) => parseRecord(Buffer.from(line))?.text.toString() ?? []).join('\n')
  }

  /** Runs a container to its end and returns its output. */
  async run(launch: ContainerLaunch, runtime = this.runtime()): Promise<string> {
    const running = await runtime.start(launch, never)
    await running.exited
    return this.said(launch.pod)
  }

  /** Ends what is left, and throws if that fails. */
  async close(): Promise<void> {
    for (const runtime of this.#open) runtime.close()
    const last = this.runtime()
    const left = await last.adopt()
    await Promise.all(left.map(({ podUid }) => last.stop(podUid, 0)))
    const marked = processesMarked(`SLUICE_NODE_ID=${last.nodeId}`)
    await last.retain(new Set())
    last.close()
    rmSync(this.dataDir, { recursive: true, force: true })
    if (marked.length > 0) throw new Error(`processes are left: ${marked.map(({ pid }) => pid).join(', ')}`)
  }
}

/** Collects what is written to it. */
export class Sink extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}
