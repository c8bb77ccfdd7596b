import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { engineKeysName } from '../../src/resources/engine-keys.ts'
import { gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { ContractServer } from './contract-server.ts'
import { type ControlPlane, startRealControlPlane } from './real-control-plane.ts'
import { RoleStage, askModel } from './role-stage.ts'
import { serveOurKinds } from './serve-our-kinds.ts'
import { TroubledServer } from './troubled-server.ts'

const missing =
  inject('missingServer') ?? (inject('contractServers')[0]?.name === 'real' ? undefined : 'only about a real server')
const patience = { timeout: 60_000, interval: 200 }
const minutes = (count: number) => count * 60_000

/**
 * The server looks at one request of an ordinary user at a time, and asks the others to come back. It watches Pods in
 * etcd, without a memory of its own, so that what is compacted there cannot be watched any more.
 */
const flags = [
  '--enable-priority-and-fairness=false',
  '--max-requests-inflight=1',
  '--max-mutating-requests-inflight=1',
  '--watch-cache-sizes=pods#0',
]

// The tests follow the same roles through one trouble after the other, so they build on each other.
describe.skipIf(missing !== undefined)(`the roles, of an API server with troubles (${missing ?? ''})`, () => {
  let plane: ControlPlane
  let server: ContractServer
  let stage: RoleStage
  /** What the controller asks goes through the first, what the gateway asks through the second. */
  let troubled: readonly TroubledServer[] = []
  let toController = ''
  let gateway: string
  let awake: string | undefined

  const each = (act: (one: TroubledServer) => void) => troubled.forEach(act)
  const createModel = (name: string) => stage.createModel(name, { maxReplicas: 1, scaleDownDelaySeconds: 0 })
  const uidsOf = async (name: string) => (await stage.podsOf(name)).map(({ metadata }) => metadata.uid)
  /** Until somebody knows the Model, the gateway says that there is none. */
  const answered = async (name: string) => {
    await expect.poll(async () => (await askModel(gateway, name)).status, patience).toBe(200)
  }

  beforeAll(async () => {
    plane = await startRealControlPlane({ flags })
    await serveOurKinds(plane.kubeconfig)
    server = new ContractServer({ name: 'real', ...plane, historyLimit: undefined })
    await server.connect()
    stage = new RoleStage(server)
    await stage.open()
    const account = await stage.kubeconfigOf('troubled')
    troubled = [new TroubledServer(account), new TroubledServer(account)]
    const kubeconfigs = await Promise.all(troubled.map((one) => one.open(server.folder)))
    const toGateway = kubeconfigs[1]
    toController = kubeconfigs[0] ?? ''
    // Longer than what counts as the life of a healthy watch.
    const silence = ['--watch-silence', '11']
    await stage.start('controller', ['--center', 'lab-1', '--idle-window', '600', ...silence], toController)
    gateway = await stage.startGateway(silence, toGateway)
    for (const name of ['awake', 'asleep']) await createModel(name)
  }, minutes(3))
  afterAll(async () => {
    await stage?.close()
    each((one) => one.close())
    server?.disconnect()
    await plane?.stop()
  }, minutes(1))

  /** Nobody stopped asking for it, so whatever is not known meanwhile is no reason to end it. */
  const nothingWasScaledDown = async () => {
    expect(await uidsOf('awake')).toEqual([awake])
    expect((await stage.model('awake'))?.spec.replicas).toBe(1)
    expect((await askModel(gateway, 'awake')).status).toBe(200)
  }

  it('serve while there is none', async () => {
    await answered('awake')
    awake = (await uidsOf('awake'))[0]
    await expect.poll(async () => (await stage.model('asleep'))?.status?.phase, patience).toBe('Asleep')
  })

  it('create the Pod that somebody waits for with their first request about it', async () => {
    const asked = troubled[0]?.asked ?? []
    await createModel('first')
    // The key of its engine is the last that is made for a Model that sleeps.
    const keys = { name: engineKeysName('first'), namespace: gatewayNamespace }
    await expect.poll(() => server.client.get(secretKind, keys), patience).toBeDefined()
    // The lease is renewed every two seconds and a bit; by then the caches have it.
    const renewals = () => asked.filter((what) => what.startsWith('PUT ') && what.includes('/leases/')).length
    const settled = renewals() + 2
    await expect.poll(renewals, patience).toBeGreaterThan(settled)
    const from = asked.length
    await answered('first')
    const at = asked.indexOf(`POST /api/v1/namespaces/${gatewayNamespace}/pods`, from)
    expect(at).toBeGreaterThanOrEqual(from)
    expect(asked.slice(from, at).filter((what) => what.startsWith('GET '))).toEqual([])
  })

  it('come back when they are asked to (429), and answer who has waited meanwhile', async () => {
    each((one) => one.begin('busy'))
    const answer = askModel(gateway, 'asleep')
    // The controller has to ask for more replicas, which is refused, and again.
    const scaling = () => troubled[0]?.refused.filter(({ what }) => /^PATCH .*\/asleep\/scale/.test(what)) ?? []
    await expect.poll(() => scaling().length, patience).toBeGreaterThanOrEqual(3)
    expect(await stage.podsOf('asleep')).toEqual([])
    each((one) => one.end())
    expect(await answer).toMatchObject({ status: 200 })
    for (const { refused } of troubled) {
      // Timers are exact to the millisecond.
      for (const pause of pausesBetweenSame(refused)) expect(pause).toBeGreaterThan(990)
    }
    await nothingWasScaledDown()
  })

  it('get through to a server that asks to come back by itself', async () => {
    const client: KubernetesClient = await connectKubernetes(toController)
    try {
      const asked = Array.from({ length: 60 }, (_none, index) => ({
        metadata: { name: `one-${index}`, namespace: gatewayNamespace },
      }))
      await Promise.all(asked.map((object) => client.create(configMapKind, object)))
      expect(troubled[0]?.busyAnswers).toBeGreaterThan(0)
      expect((await client.list(configMapKind, { namespace: gatewayNamespace })).items.length).toBeGreaterThanOrEqual(
        60,
      )
    } finally {
      client.close()
    }
  })

  it('notice that their watches are dead although nobody says so', async () => {
    for (const one of troubled) expect(one.freezeWatches()).toBeGreaterThan(0)
    await createModel('unseen')
    await answered('unseen')
    await nothingWasScaledDown()
  })

  it('notice that their watches were never begun', async () => {
    each((one) => one.begin('watches swallowed'))
    each((one) => one.cutWatches())
    for (const one of troubled) await expect.poll(() => one.swallowed, patience).toBeGreaterThan(1)
    await createModel('unheard')
    each((one) => one.end())
    await answered('unheard')
    await nothingWasScaledDown()
  })

  it('list anew what they cannot watch any more (410), and miss nothing', async () => {
    const [lost] = await uidsOf('asleep')
    each((one) => one.begin('gone'))
    await createModel('late')
    await server.client.delete(modelKind, { name: 'unheard', namespace: gatewayNamespace })
    for (const { metadata } of await stage.podsOf('asleep')) await server.client.delete(podKind, metadata)
    await expect.poll(() => uidsOf('asleep'), patience).toEqual([])
    await compact(plane.etcd ?? '', (await server.client.list(podKind)).resourceVersion)
    each((one) => one.end())
    for (const name of ['late', 'asleep']) await answered(name)
    expect(await uidsOf('asleep')).not.toContain(lost)
    await expect.poll(async () => (await askModel(gateway, 'unheard')).status, patience).toBe(404)
    for (const one of troubled) expect(one.expiredWatches).toBeGreaterThan(0)
    await nothingWasScaledDown()
  })
})

/** How long it took until the same was asked again. Different objects are created by the same words. */
function pausesBetweenSame(refused: TroubledServer['refused']): readonly number[] {
  const asked = Map.groupBy(
    refused.filter(({ what }) => !what.startsWith('POST ')),
    ({ what }) => what,
  )
  return [...asked.values()].flatMap((times) => times.slice(1).map(({ at }, index) => at - (times[index]?.at ?? 0)))
}

/** Lets etcd forget everything before a revision. */
async function compact(etcd: string, revision: string): Promise<void> {
  const body = JSON.stringify({ revision, physical: true })
  const signal = AbortSignal.timeout(10_000)
  const response = await fetch(`${etcd}/v3/kv/compaction`, { method: 'POST', body, signal })
  if (!response.ok) throw new Error(await response.text())
}
