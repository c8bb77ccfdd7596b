import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { podSchema } from '../resources/pod.ts'
import { type ContainerLaunch, ContainerRefused, type PodRuntime } from './pod-runtime.ts'

export interface RuntimeUnderTest {
  readonly runtime: PodRuntime
  /** An image that runs its first argument as a JavaScript program. */
  readonly scriptImage: string
  /** Another runtime on the same machine, as after a crash of the program. */
  restarted(): PodRuntime
}

const podIP = '127.64.200.1'
const never = new AbortController().signal

export function launchOf(image: string, script: string, extra: Record<string, unknown> = {}): ContainerLaunch {
  const container = { name: 'main', image, args: [script], ...extra }
  const pod = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: randomUUID() },
    spec: { containers: [container], volumes: extra['volumes'] },
  })
  const [parsed] = pod.spec.containers
  if (!parsed) throw new Error('no container')
  return { pod, container: parsed, attempt: 0, podIP, cards: [] }
}

export const uidOf = ({ pod }: ContainerLaunch) => pod.metadata.uid ?? ''

/** Tests that every PodRuntime must pass. */
export function describePodRuntime(name: string, prepare: () => RuntimeUnderTest): void {
  describe(`${name} as a PodRuntime`, () => {
    it('starts a container and reports how it exited', async () => {
      const { runtime, scriptImage } = prepare()
      const running = await runtime.start(launchOf(scriptImage, 'process.exit(3)'), never)
      expect(running).toMatchObject({ container: 'main', attempt: 0, podIP })
      expect(await running.exited).toMatchObject({ exitCode: 3, reason: 'Error' })
    })

    it('reports a container that ends well as completed', async () => {
      const { runtime, scriptImage } = prepare()
      const running = await runtime.start(launchOf(scriptImage, ''), never)
      expect(await running.exited).toMatchObject({ exitCode: 0, reason: 'Completed' })
    })

    it('refuses an image it does not know and says which it knows', async () => {
      const { runtime, scriptImage } = prepare()
      const starting = runtime.start(launchOf('elsewhere/unknown:1', ''), never)
      await expect(starting).rejects.toThrow(ContainerRefused)
      await expect(starting).rejects.toMatchObject({ reason: 'ErrImagePull' })
      await expect(starting).rejects.toThrow(scriptImage.split(':')[0])
    })

    it('asks a container to end, and it may take its time to', async () => {
      const { runtime, scriptImage } = prepare()
      const folder = mkdtempSync(join(tmpdir(), 'sluice-runtime-'))
      const up = join(folder, 'up')
      const script = `
        process.on('SIGTERM', () => setTimeout(() => process.exit(7), 50))
        setInterval(() => {}, 1000)
        require('fs').mkdirSync(${JSON.stringify(folder)}, { recursive: true })
        require('fs').writeFileSync(${JSON.stringify(up)}, '')`
      const launch = launchOf(scriptImage, script)
      const running = await runtime.start(launch, never)
      // A signal before the handler is installed would end it at once.
      const isUp = () => runtime.exec(uidOf(launch), 'main', ['/bin/sh', '-c', `test -e ${up}`], {}, never)
      await expect.poll(isUp).toMatchObject({ exitCode: 0 })
      await runtime.stop(uidOf(launch), 10_000)
      expect(await running.exited).toMatchObject({ exitCode: 7 })
      rmSync(folder, { recursive: true })
    })

    it('stops a Pod it does not have by doing nothing', async () => {
      await expect(prepare().runtime.stop(randomUUID(), 1000)).resolves.toBeUndefined()
    })

    it('finds what an earlier run left running and owns it from then on', async () => {
      const { runtime, scriptImage, restarted } = prepare()
      const launch = { ...launchOf(scriptImage, 'setInterval(() => {}, 1000)'), attempt: 4, cards: [1, 3] }
      const before = await runtime.start(launch, never)
      const next = restarted()
      const [adopted, ...others] = await next.adopt()
      expect(others).toEqual([])
      expect(adopted).toMatchObject({ podUid: uidOf(launch), pid: before.pid, attempt: 4, cards: [1, 3], podIP })
      await next.stop(uidOf(launch), 5000)
      // An adopted process is no child of this one, so not every runtime can know its exit code.
      expect((await adopted?.exited)?.exitCode).toBeGreaterThan(128)
      expect(await restarted().adopt()).toEqual([])
    })
  })
}
