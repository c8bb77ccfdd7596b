import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelKind } from '../../src/resources/model.ts'
import { persistentVolumeClaimKind } from '../../src/resources/persistent-volume-claim.ts'
import { podKind } from '../../src/resources/pod.ts'
import { RequestLoad } from '../support/ask-model.ts'
import { ChartStage, addressOf, askEdge, chart, helmPath } from '../support/chart-stage.ts'
import { hangingLabEngine, labEngine, labImages } from '../support/lab-config.ts'
import { managementCredential } from '../support/management-credential.ts'
import { namespace } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'

const minutes = (count: number) => count * 60_000
const name = 'tiny'
const settings = [
  'controller.idleWindowSeconds=3',
  'gateway.withdrawSeconds=2',
  'exposure.enabled=true',
  'management.enabled=true',
]

const [absent, why] =
  process.getuid?.() !== 0
    ? [true, ' (needs root)']
    : helmPath === undefined
      ? [true, ' ($KUBEBUILDER_ASSETS has no helm)']
      : [false, '']

// The tests follow one release through its life, so they build on each other.
describe.skipIf(absent)(`the chart, on a cluster without a gateway of its own${why}`, () => {
  const stage = new ChartStage()
  const values = join(stage.data, 'values.yaml')
  const config = join(stage.data, 'config.yaml')
  stage.addFlags('--config', config)

  beforeAll(async () => {
    await stage.addFile('models/tiny')
    writeFileSync(join(stage.folder, 'models/hang'), '')
    // The node knows the program of an image, and nothing of engines.
    writeFileSync(config, JSON.stringify({ images: labImages }))
    writeFileSync(values, JSON.stringify({ engines: { Lab: labEngine, Hanging: hangingLabEngine } }))
    await stage.start()
    // The cluster has an edge of its own, and two must not tell different addresses.
    settings.push(`exposure.extraArgs={--exposure-port=${new URL(stage.sluice.endpoints.exposure).port}}`)
    await stage.create(name, { minReplicas: 0, scaleDownDelaySeconds: 0 })
  })
  afterAll(() => stage.destroy())

  it(
    'is deployed, with all Pods ready',
    async () => {
      expect(
        await stage.helm('install', 'demo', chart, '--wait', '--timeout', '4m', '--values', values, ...set(settings)),
      ).toMatch(/STATUS: deployed/)
      await stage.untilPodsOf('controller', 2)
      for (const role of ['gateway', 'exposure', 'management']) await stage.untilPodsOf(role, 2)
    },
    minutes(5),
  )

  it(
    'wakes a Model from zero for both gateways, and puts it to sleep again',
    async () => {
      expect(await stage.podsOfModel(name)).toEqual([])
      const gateways = await stage.podsOf('gateway')
      const answers = await Promise.all(gateways.map((pod) => stage.ask(addressOf(pod), name)))
      expect(answers).toEqual([answered, answered])
      await stage.untilAsleep(name)
    },
    minutes(5),
  )

  it(
    'serves with an engine that is nothing but values, and tells what it does while it loads',
    async () => {
      const spec = { url: 'pvc://userdata/models/tiny/model.gguf', minReplicas: 1 }
      await stage.create('lab', { ...spec, engine: 'Lab' })
      await stage.untilModel('lab', ({ status }) => status?.phase === 'Ready')
      const gateway = await stage.serviceAddress()
      expect(await stage.ask(gateway, 'lab')).toEqual({
        status: 200,
        text: expect.stringMatching(/\d+ bytes, 1 cards/) as unknown,
      })
      await stage.client.delete(modelKind, { namespace, name: 'lab' })
      await stage.create('hanging', { ...spec, engine: 'Hanging' })
      const seen = /for \d+ s; last log line \d+ s ago: shard 3 of 3\.$/
      await stage.untilModel('hanging', ({ status }) => seen.test(status?.message ?? ''))
      await stage.client.delete(modelKind, { namespace, name: 'hanging' })
      for (const gone of ['lab', 'hanging']) await stage.untilAsleep(gone)
    },
    minutes(5),
  )

  it(
    'exposes the gateway over TLS',
    async () => {
      const ca = await stage.edgeAuthority()
      const host = await stage.exposedHost()
      for (const edge of await stage.untilPodsOf('exposure', 2)) {
        const answer = await askEdge({ edge: edge.status?.podIP ?? '', host, ca, path: '/openai/v1/models' })
        expect(answer).toEqual({ status: 200, text: expect.stringContaining(`"${name}"`) as unknown })
      }
    },
    minutes(2),
  )

  it(
    'tells of the cluster through its management API',
    async () => {
      for (const pod of await stage.untilPodsOf('management', 2)) {
        const answer = await fetch(
          `http://${pod.status?.podIP ?? ''}:8080/api/vks/v1/${stage.sluice.endpoints.clusterId}`,
          {
            headers: { authorization: managementCredential(stage.data) },
          },
        )
        expect(answer.status).toBe(200)
        expect(await answer.text()).toContain(stage.sluice.endpoints.clusterId)
      }
    },
    minutes(2),
  )

  it(
    'wakes it also when the leading controller is gone',
    async () => {
      const leader = await stage.leader()
      expect((await stage.podsOf('controller')).map(({ metadata }) => metadata.name)).toContain(leader)
      await stage.client.delete(podKind, { namespace, name: leader })
      expect(await stage.ask(await stage.serviceAddress(), name)).toEqual(answered)
      expect(await stage.leader()).not.toBe(leader)
      await stage.untilPodsOf('controller', 2)
      await stage.untilAsleep(name)
    },
    minutes(5),
  )

  it(
    'answers who waits at a gateway that goes, and everybody else at the others',
    async () => {
      const [going, staying] = await stage.podsOf('gateway')
      if (!going || !staying) throw new Error('there are not two gateways')
      const waiting = stage.ask(addressOf(going), name)
      await until('it wakes', minutes(1), async () => (await stage.podsOfModel(name)).length > 0)
      await stage.client.delete(podKind, { namespace, name: going.metadata.name })
      expect(await Promise.all([waiting, stage.ask(addressOf(staying), name)])).toEqual([answered, answered])
      const gateways = await stage.untilPodsOf('gateway', 2)
      const coming = gateways.find(({ metadata }) => metadata.name !== staying.metadata.name)
      if (!coming) throw new Error('no other gateway came')
      expect(await stage.ask(addressOf(coming), name)).toEqual(answered)
    },
    minutes(5),
  )

  it(
    'loses no request while it is upgraded',
    async () => {
      const load = new RequestLoad(() => stage.ask(service, name))
      const service = await stage.serviceAddress()
      const before = await stage.podsOf('gateway')
      load.start(3)
      const again = ['gateway.podAnnotations.again=yes', 'controller.podAnnotations.again=yes']
      await stage.helm(
        'upgrade',
        'demo',
        chart,
        '--wait',
        '--timeout',
        '4m',
        '--values',
        values,
        ...set(settings),
        ...set(again),
      )
      // Until the last of the old ones is gone.
      const old = new Set(before.map(({ metadata }) => metadata.uid))
      await until('the old ones are gone', minutes(2), async () => {
        const pods = await stage.pods()
        return !pods.some(({ metadata }) => old.has(metadata.uid))
      })
      const answers = await load.stop()
      expect(answers.filter(({ status }) => status !== 200)).toEqual([])
      expect(answers.length).toBeGreaterThan(3)
    },
    minutes(8),
  )

  it('asks the cluster for nothing that it may not do', () => {
    expect(stage.roleLogs()).not.toMatch(/forbidden/i)
    expect(stage.refusals()).toEqual([])
  })

  it(
    'leaves Models and data when it is removed, and nothing that runs',
    async () => {
      await stage.ask(await stage.serviceAddress(), name)
      expect((await stage.podsOfModel(name)).length).toBeGreaterThan(0)
      expect(await stage.helm('uninstall', 'demo', '--timeout', '4m')).toMatch(/uninstalled/)
      expect(await stage.podsOfModel(name)).toEqual([])
      await until('no Pod is left', minutes(2), async () => (await stage.pods()).length === 0)
      expect(await stage.client.get(modelKind, { namespace, name })).toBeDefined()
      expect(await stage.client.get(persistentVolumeClaimKind, { namespace, name: 'userdata' })).toBeDefined()
    },
    minutes(6),
  )
})

const set = (values: readonly string[]) => values.flatMap((value) => ['--set', value])

const answered: unknown = { status: 200, text: expect.stringContaining('"choices"') }
