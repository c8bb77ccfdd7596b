import { describe, expect, it } from 'vitest'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { type ContainerMemory, afterExit, afterStart } from '../containers/container-memory.ts'
import { planPod } from './pod-plan.ts'
import { podStatus } from './pod-status.ts'
import { recallContainers } from '../containers/recalled-containers.ts'

const now = 1_800_000_000_000

function podOf(spec: Record<string, unknown>): Pod {
  const metadata = { name: 'p', namespace: 'ns', uid: 'u' }
  return podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main' }], ...spec } })
}

const starts = (memory: ContainerMemory, attempt = 0): ContainerMemory =>
  afterStart(memory, {
    podUid: 'u',
    container: memory.spec.name,
    attempt,
    podIP: '10.0.0.1',
    cards: [],
    pid: 7,
    startedAt: now,
    exited: new Promise(() => {}),
  })

function ends(memory: ContainerMemory, exitCode: number): ContainerMemory {
  const exit = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: now } as const
  return afterExit({ ...starts(memory, memory.restarts), state: { type: 'exited', exit, startedAt: now } }, now)
}

type Step = (memory: ContainerMemory) => ContainerMemory

/** The status after these events, as a person reads it. */
function status(spec: Record<string, unknown>, happened: Readonly<Record<string, Step>> = {}) {
  const pod = podOf(spec)
  const memories = recallContainers(pod, [], [], now).map((memory) => happened[memory.spec.name]?.(memory) ?? memory)
  const plan = planPod(pod.spec.restartPolicy, memories, now)
  const full = podStatus(pod, plan, memories, { podIP: '10.0.0.1', hostIP: '10.0.0.2' }, now)
  const all = [...(full.initContainerStatuses ?? []), ...(full.containerStatuses ?? [])]
  const states = all.map(({ name, state }) => {
    const [type] = Object.keys(state ?? {})
    return `${name} ${type} ${state?.waiting?.reason ?? state?.terminated?.reason ?? ''}`.trim()
  })
  const conditions = Object.fromEntries(
    (full.conditions ?? []).map(({ type, status: value, reason = '', message = '' }) => [
      type,
      [value, reason, message].filter(Boolean).join(' '),
    ]),
  )
  return { phase: full.phase, states, ...conditions }
}

const inits = { initContainers: [{ name: 'init1' }, { name: 'init2' }] }
const sidecar = { initContainers: [{ name: 'side', restartPolicy: 'Always' }] }

describe('the status of a Pod, in the words of the kubelet', () => {
  it('without init containers creates its containers', () => {
    expect(status({})).toMatchObject({
      phase: 'Pending',
      states: ['main waiting ContainerCreating'],
      PodReadyToStartContainers: 'True',
      Initialized: 'True',
      Ready: 'False ContainersNotReady containers with unready status: [main]',
    })
  })

  it('whose first init container runs is initializing, all of it', () => {
    expect(status(inits, { init1: starts })).toMatchObject({
      phase: 'Pending',
      states: ['init1 running', 'init2 waiting PodInitializing', 'main waiting PodInitializing'],
      Initialized: 'False ContainersNotInitialized containers with incomplete status: [init1 init2]',
      ContainersReady: 'False ContainersNotReady containers with unready status: [main]',
    })
  })

  it('whose init containers are done is still said to initialize until its own run', () => {
    const done = (memory: ContainerMemory) => ends(memory, 0)
    expect(status(inits, { init1: done, init2: done })).toMatchObject({
      states: ['init1 terminated Completed', 'init2 terminated Completed', 'main waiting PodInitializing'],
      Initialized: 'True',
    })
  })

  it('whose init container failed waits for it, or has failed with it', () => {
    const failed = (memory: ContainerMemory) => ends(memory, 1)
    expect(status(inits, { init1: failed })).toMatchObject({
      phase: 'Pending',
      states: ['init1 waiting CrashLoopBackOff', 'init2 waiting PodInitializing', 'main waiting PodInitializing'],
    })
    expect(status({ ...inits, restartPolicy: 'Never' }, { init1: failed })).toMatchObject({
      phase: 'Failed',
      states: ['init1 terminated Error', 'init2 waiting PodInitializing', 'main waiting PodInitializing'],
      PodReadyToStartContainers: 'False',
      Initialized: 'False ContainersNotInitialized containers with incomplete status: [init1 init2]',
      Ready: 'False PodFailed',
    })
  })

  it('is initialized when its sidecar has started, and ready only when that is', () => {
    expect(status(sidecar, { side: starts })).toMatchObject({
      phase: 'Pending',
      states: ['side running', 'main waiting PodInitializing'],
      Initialized: 'True',
    })
    const unready = (memory: ContainerMemory) => ({ ...starts(memory), ready: false })
    expect(status(sidecar, { side: unready, main: starts })).toMatchObject({
      phase: 'Running',
      Ready: 'False ContainersNotReady containers with unready status: [side]',
    })
    expect(status(sidecar, { side: starts, main: starts })).toMatchObject({ phase: 'Running', Ready: 'True' })
    const starting = (memory: ContainerMemory) => ({ ...starts(memory), started: false, ready: false })
    expect(status(sidecar, { side: starting })).toMatchObject({
      Initialized: 'False ContainersNotInitialized containers with incomplete status: [side]',
    })
  })

  it('that has succeeded says so in its conditions', () => {
    expect(status({ restartPolicy: 'Never' }, { main: (memory) => ends(memory, 0) })).toMatchObject({
      phase: 'Succeeded',
      Initialized: 'True PodCompleted',
      Ready: 'False PodCompleted',
      PodReadyToStartContainers: 'False',
    })
  })

  it('has every address of the Pod and of its node, the one of IPv4 first', () => {
    const addresses = { podIP: '10.0.0.1', podIP6: 'fd00::1', hostIP: '10.0.0.2', hostIP6: 'fd00::2' }
    const plan = { phase: 'Running', initialized: true } as const
    expect(podStatus(podOf({}), plan, [], addresses, now)).toMatchObject({
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      hostIP: '10.0.0.2',
      hostIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }],
    })
  })

  it('names the Pod, and how long it waits, where a container crashes again and again', () => {
    const pod = podOf({})
    const [fresh] = recallContainers(pod, [], [], now)
    if (!fresh) throw new Error('no container')
    const told = (times: number) => {
      let memory = fresh
      for (let time = 0; time < times; time += 1) memory = ends(memory, 1)
      const plan = planPod('Always', [memory], now)
      const [container] = podStatus(pod, plan, [memory], { hostIP: '' }, now).containerStatuses ?? []
      return container?.state?.waiting?.message
    }
    expect(told(2)).toBe('back-off 10s restarting failed container=main pod=p_ns(u)')
    expect(told(6)).toBe('back-off 2m40s restarting failed container=main pod=p_ns(u)')
    expect(told(9)).toBe('back-off 5m0s restarting failed container=main pod=p_ns(u)')
  })
})
