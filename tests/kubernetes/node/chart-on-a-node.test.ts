import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelKind } from '../../../src/resources/model.ts'
import { persistentVolumeClaimKind } from '../../../src/resources/persistent-volume-claim.ts'
import type { Pod } from '../../../src/resources/pod.ts'
import type { Answer } from '../../support/ask-model.ts'
import { chart } from '../../support/chart-stage.ts'
import { namespace } from '../../support/model-stage.ts'
import { until } from '../../support/sluice-process.ts'
import { askExposedGateway, askManagement } from './node-faces.ts'
import { NodeStage, card, missingNodeStage } from './node-stage.ts'

const minutes = (count: number) => count * 60_000
const name = 'smollm2'
const settings = [
  'controller.idleWindowSeconds=5',
  'exposure.enabled=true',
  'exposure.replicas=1',
  'management.enabled=true',
  'management.replicas=1',
]
/** How long the API server is away. Longer than a leader may go on without it. */
const outageSeconds = Number(process.env['SLUICE_API_OUTAGE_SECONDS'] ?? 20)

const missing = missingNodeStage()
const why = missing === undefined ? '' : ` (${missing})`

// The tests follow one release through its life, so they build on each other.
describe.skipIf(missing !== undefined)(`the chart, on a Kubernetes with a node${why}`, () => {
  let stage: NodeStage

  beforeAll(async () => {
    stage = await NodeStage.start()
  }, minutes(5))
  afterAll(() => stage.destroy())

  it(
    'is deployed, with all Pods ready',
    async () => {
      expect(await stage.helm('install', 'demo', chart, '--wait', '--timeout', '4m', ...set(settings))).toMatch(
        /STATUS: deployed/,
      )
      await stage.untilPodsOf('controller', 2)
      await stage.untilPodsOf('gateway', 2)
      for (const role of ['exposure', 'management']) await stage.untilPodsOf(role, 1)
      expect(await stage.helm('status', 'demo', '--output', 'json')).toContain('"status":"deployed"')
    },
    minutes(5),
  )

  it(
    'wakes a Model from zero for both gateways',
    async () => {
      const spec = { url: 'pvc://userdata/models/smollm2', engine: 'LlamaCpp', resourceProfile: `${card}:1` }
      const scaling = { minReplicas: 0, maxReplicas: 2, targetRequests: 2, scaleDownDelaySeconds: 0 }
      await stage.applyModel(name, { ...spec, ...scaling })
      const gateways = await stage.podsOf('gateway')
      for (const gateway of gateways) await stage.untilListed(gateway, name)
      const answers = await Promise.all(gateways.map((pod) => stage.askPod(pod, name)))
      expect(answers).toEqual([answered, answered])
      expect(await stage.podsOfModel(name)).toHaveLength(1)
    },
    minutes(5),
  )

  it(
    'is talked to from the command line, through the API server',
    async () => {
      const { code, stdout, stderr } = await stage.sluice('chat', name, 'Say hello.')
      expect([code, stderr]).toEqual([0, expect.any(String)])
      expect(stdout.trim()).not.toBe('')
      const unknown = await stage.sluice('chat', 'smolm2', 'Say hello.')
      expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining(`Did you mean ${name}?`)])
    },
    minutes(3),
  )

  it(
    'exposes the gateway over TLS, and tells of the cluster through its management API',
    async () => {
      const list = await askExposedGateway(stage, '/openai/v1/models')
      expect(list).toEqual({ status: 200, text: expect.stringContaining(`"${name}"`) as unknown })
      const { id, answer } = await askManagement(stage)
      const cards = { gpu: [{ name: card, hard: 2 }] }
      expect(answer).toMatchObject({ code: 0, data: { id, status: 'Running', utilizationRate: cards } })
    },
    minutes(3),
  )

  it(
    'adds a second Pod under load, and loses no request with one that is deleted',
    async () => {
      const answers = await stage.answersDuring(name, 6, async () => {
        const [first] = await stage.untilReadyPods(name, 2)
        if (!first) throw new Error('there is no Pod')
        await stage.deletePod(first)
        await stage.untilGone(first)
        await stage.untilReadyPods(name, 2)
      })
      expect(failures(answers)).toEqual([])
    },
    minutes(5),
  )

  it(
    'loses no request with a gateway that is deleted',
    async () => {
      const [going] = await stage.podsOf('gateway')
      if (!going) throw new Error('there is no gateway')
      const answers = await stage.answersDuring(name, 2, async () => {
        await stage.deletePod(going)
        await stage.untilGone(going)
      })
      expect(failures(answers)).toEqual([])
      for (const gateway of await stage.untilPodsOf('gateway', 2))
        expect(await stage.askPod(gateway, name)).toEqual(answered)
    },
    minutes(5),
  )

  it(
    'serves on while the API server is away, and deletes nothing when it is back',
    async () => {
      // Afterwards the node's proxy may send nobody to the gateways for half a minute, until its back-off is over.
      await stage.setIdleWindow(name, '60')
      let before: ReadonlyArray<string | undefined> = []
      // As many as two Pods are for, so that nothing is to be scaled meanwhile.
      const answers = await stage.answersDuring(name, 4, async () => {
        await stage.untilReadyPods(name, 2)
        before = (await stage.pods()).map(({ metadata }) => metadata.uid)
        await stage.cluster.killApiServer()
        await passed(outageSeconds)
        await stage.cluster.startApiServer()
        await stage.untilGatewaysKnown(2)
      })
      expect(failures(answers)).toEqual([])
      const after = (await stage.pods()).map(({ metadata }) => metadata.uid)
      if (!isDeepStrictEqual(after, before)) throw new Error(`other Pods than before:\n${await stage.story()}`)
      await stage.setIdleWindow(name, undefined)
    },
    minutes(8),
  )

  it(
    'goes back to zero, and has one leader that acts, also when one goes on that was stopped in the middle',
    async () => {
      await stage.untilAsleep(name)
      const service = await stage.serviceAddress()
      // Awake and idle is the last that the first leader hears.
      expect(await stage.ask(service, name)).toEqual(answered)
      const first = await stage.leader()
      await stage.freeze(first, 'pause')
      try {
        const answers = await stage.answersDuring(name, 1, async () => {
          await until('another leads', minutes(2), async () => !isSame(await stage.leader(), first))
          const [serving] = await stage.untilReadyPods(name, 1)
          await stage.freeze(first, 'resume')
          await stage.untilLeading(1)
          expect(await stage.podsOfModel(name)).toMatchObject([{ metadata: { uid: serving?.metadata.uid } }])
        })
        expect(failures(answers)).toEqual([])
      } finally {
        await stage.freeze(first, 'resume').catch(() => {})
      }
    },
    minutes(5),
  )

  it(
    'is woken by who led before when the leader is gone',
    async () => {
      await stage.untilAsleep(name)
      const leader = await stage.leader()
      await stage.deletePod(leader)
      expect(await stage.ask(await stage.serviceAddress(), name)).toEqual(answered)
      expect(isSame(await stage.leader(), leader)).toBe(false)
      await stage.untilPodsOf('controller', 2)
    },
    minutes(5),
  )

  it(
    'lets who asks for a sleeping Model wait while the API server is away, says so, and answers when it is back',
    async () => {
      await stage.untilAsleep(name)
      const gateways = await stage.untilPodsOf('gateway', 2)
      await stage.untilGatewaysKnown(2)
      await stage.cluster.killApiServer()
      const streams = gateways.map((gateway) => stage.streamFromPod(gateway, name))
      const others = gateways.map((gateway) => stage.askPod(gateway, name))
      // Whoever led hears of them, but nobody can lead for long without the API server.
      for (const { soFar } of streams) await until('it says so', minutes(2), () => soFar().includes(noController))
      for (const gateway of gateways) {
        expect(await stage.figure(gateway, 'sluice_traffic_waiting_requests')).toBe(2)
        expect(await stage.figure(gateway, 'sluice_gateway_demand_listeners')).toBe(0)
      }
      await stage.cluster.startApiServer()
      expect(await Promise.all(others)).toEqual([answered, answered])
      for (const { status, text } of await Promise.all(streams.map(({ whole }) => whole))) {
        expect([status, text]).toEqual([200, expect.stringMatching(/\n\ndata: .*\n\ndata: \[DONE\]\n\n$/s)])
      }
    },
    minutes(6),
  )

  it('takes little memory, as Kubernetes counts it', async () => {
    for (const [role, limit] of [
      ['controller', 150],
      ['gateway', 120],
    ] as const) {
      for (const bytes of await stage.memoryOf(role)) expect(bytes / 2 ** 20).toBeLessThan(limit)
    }
  })

  it(
    'loses no request while it is upgraded',
    async () => {
      await stage.untilServicesAreFollowed()
      const before = [...(await stage.podsOf('gateway')), ...(await stage.podsOf('controller'))]
      const again = ['gateway.podAnnotations.again=yes', 'controller.podAnnotations.again=yes']
      const answers = await stage.answersDuring(name, 2, async () => {
        await stage.helm('upgrade', 'demo', chart, '--wait', '--timeout', '4m', ...set(settings), ...set(again))
        await stage.untilGone(...before)
      })
      expect(failures(answers)).toEqual([])
    },
    minutes(8),
  )

  it('asks the cluster for nothing that it may not do', () => {
    expect(stage.refusals()).toEqual([])
  })

  it(
    'leaves Models and data when it is removed, and nothing that runs',
    async () => {
      expect(await stage.ask(await stage.serviceAddress(), name)).toEqual(answered)
      expect(await stage.helm('uninstall', 'demo', '--timeout', '4m')).toMatch(/uninstalled/)
      expect(await stage.podsOfModel(name)).toEqual([])
      await until('no Pod is left', minutes(2), async () => (await stage.pods()).length === 0)
      const { client } = stage.cluster
      expect(await client.get(modelKind, { namespace, name })).toBeDefined()
      expect(await client.get(persistentVolumeClaimKind, { namespace, name: 'userdata' })).toBeDefined()
    },
    minutes(6),
  )
})

const set = (values: readonly string[]) => values.flatMap((value) => ['--set', value])
const answered: unknown = { status: 200, text: expect.stringContaining('"choices"') }
const noController = 'no controller listens to this gateway yet; the request waits for one'
const isSame = (one: Pod, other: Pod) => one.metadata.uid === other.metadata.uid
const failures = (answers: readonly Answer[]) => answers.filter(({ status }) => status !== 200)

function passed(seconds: number): Promise<void> {
  const over = Date.now() + seconds * 1000
  return until(`${seconds} seconds`, seconds * 2000 + 1000, () => Date.now() >= over)
}
