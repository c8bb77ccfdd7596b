import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { podSchema } from '../../resources/pod.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import type { ContainerLaunch } from '../pod-runtime.ts'
import { processesMarked } from '../processes/process-identity.ts'
import { RuntimeStage, never } from '../containers/running-containers.fixture.ts'
import { memoryVolumeBytes } from './memory-size.ts'

const large = 2 ** 30
const isRoot = process.getuid?.() === 0
const permitted = isRoot && isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is)

describe('the size of a volume in memory', () => {
  const limited = (memory: string, more: object = {}) => ({ name: 'c', resources: { limits: { memory } }, ...more })
  const bytes = (spec: object, sizeLimit?: string) => {
    const pod = podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec })
    return memoryVolumeBytes(pod, sizeLimit, 8 * large)
  }

  it.each<[string, object, string | undefined, number]>([
    ['of what Pods can have of the node, where nothing is said', { containers: [{ name: 'c' }] }, undefined, 8 * large],
    ['of its sizeLimit', { containers: [{ name: 'c' }] }, '1Gi', large],
    ['of the node, where the sizeLimit is more than that', { containers: [{ name: 'c' }] }, '9Gi', 8 * large],
    ['of all containers together', { containers: [limited('1Gi'), limited('2Gi')] }, undefined, 3 * large],
    ['of the Pod, where that is less than its sizeLimit', { containers: [limited('1Gi')] }, '2Gi', large],
    ['of the node, where one has no limit', { containers: [limited('1Gi'), { name: 'c' }] }, undefined, 8 * large],
    [
      'of the largest that runs before the others',
      { containers: [limited('1Gi')], initContainers: [limited('4Gi')] },
      undefined,
      4 * large,
    ],
    [
      'of those that run beside the others, too',
      { containers: [limited('1Gi')], initContainers: [limited('4Gi', { restartPolicy: 'Always' })] },
      undefined,
      5 * large,
    ],
    [
      'of the Pod as a whole',
      { containers: [{ name: 'c' }], resources: { limits: { memory: '2Gi' } } },
      undefined,
      2 * large,
    ],
    ['of the node, where its limit is zero', { containers: [{ name: 'c' }] }, '0', 8 * large],
  ])('is that %s', (_what, spec, sizeLimit, expected) => {
    expect(bytes(spec, sizeLimit)).toBe(expected)
  })
})

describe.skipIf(!permitted)('a volume in memory', () => {
  let stage: RuntimeStage
  beforeEach(() => {
    stage = new RuntimeStage('namespaces')
  })
  afterEach(() => stage.close())

  const withMemory = (script: string, sizeLimit?: string, container: object = {}): ContainerLaunch =>
    stage.launch(
      script,
      { volumeMounts: [{ name: 'fast', mountPath: '/fast' }], ...container },
      { volumes: [{ name: 'fast', emptyDir: { medium: 'Memory', ...(sizeLimit !== undefined && { sizeLimit }) } }] },
    )
  const mountsOf = (uid: string | undefined) =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(uid ?? ''))

  it('is as large as it may be and not a byte larger, and whoever runs the container may write it', async () => {
    const script = `head -c 3000000 /dev/zero >/fast/file 2>/tmp/problem; cat /tmp/problem
      stat -c '%s %a' /fast/file /fast; stat -f -c '%T' /fast; df -k --output=size /fast | tail -n 1`
    const said = await stage.run(withMemory(script, '1Mi', { securityContext: { runAsUser: 1000, runAsGroup: 1000 } }))
    expect(said).toMatch(/No space left on device\n1048576 644\n\d+ 777\ntmpfs\n +1024$/)
  })

  it('is bounded by what the node has where nothing is said', async () => {
    const launch = {
      ...withMemory('df -k --output=size /fast | tail -n 1'),
      allocatable: { cpus: 1, memoryBytes: 64 * 2 ** 20 },
    }
    expect((await stage.run(launch)).trim()).toBe('65536')
  })

  it('counts as memory of the container that writes it', async () => {
    const limits = { resources: { limits: { memory: '64Mi' } } }
    const runtime = stage.runtime()
    if (!(await runtime.facts()).limitsEnforced) return
    const launch = withMemory('head -c 200000000 /dev/zero >/fast/file; echo went on', '1Gi', limits)
    const running = await runtime.start(launch, never)
    expect(await running.exited).toMatchObject({ reason: 'OOMKilled' })
  })

  it('is one for all containers and starts of the Pod, outlasts a node that is killed, and goes with the Pod', async () => {
    const first = stage.runtime()
    const launch = withMemory('echo kept >/fast/file; exec sleep 3600')
    const { uid = '', name } = launch.pod.metadata
    await first.start(launch, never)
    // As if killed: mounts of running containers stay.
    first.close()
    const second = stage.runtime()
    await second.adopt()
    await second.stop(uid, 0)
    const again = {
      ...launch,
      attempt: 1,
      container: { ...launch.container, args: ['cat /fast/file >/dev/termination-log'] },
    }
    const running = await second.start(again, never)
    expect(await running.exited).toMatchObject({ exitCode: 0, message: 'kept\n' })
    expect(mountsOf(uid)).toHaveLength(1)
    const folder = join(stage.dataDir, 'node', 'scratch', uid)
    expect(statSync(join(stage.dataDir, 'node', 'scratch')).mode & 0o77).toBe(0)
    await second.forget({ uid, name, namespace: 'default' })
    expect(mountsOf(uid)).toEqual([])
    expect(existsSync(folder)).toBe(false)
  })

  it('is seen where namespaces were made before it, and kept by none that were made while it was there', async () => {
    const runtime = stage.runtime()
    await runtime.adopt()
    const waiting = () => processesMarked(`SLUICE_SHELL_OF=${runtime.nodeId}`)
    await expect.poll(waiting).not.toEqual([])
    const launch = withMemory('stat -f -c %T /fast')
    expect(await stage.run(launch, runtime)).toBe('tmpfs')
    const { uid = '', name } = launch.pod.metadata
    await expect.poll(waiting).not.toEqual([])
    await runtime.forget({ uid, name, namespace: 'default' })
    const keepers = () =>
      waiting().filter(({ pid }) => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(`${uid}/memory`))
    await expect.poll(keepers).toEqual([])
  })

  it('of Pods that do not run is not left behind when the node stops, nor of those that nobody knows any more', async () => {
    const runtime = stage.runtime()
    const launch = withMemory('true')
    await (
      await runtime.start(launch, never)
    ).exited
    expect(mountsOf(launch.pod.metadata.uid)).toHaveLength(1)
    runtime.close()
    expect(mountsOf(launch.pod.metadata.uid)).toEqual([])
    const next = stage.runtime()
    const other = withMemory('true')
    await (
      await next.start(other, never)
    ).exited
    await next.retain(new Set())
    expect(mountsOf(other.pod.metadata.uid)).toEqual([])
  })
})
