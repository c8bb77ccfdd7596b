import { onTestFinished } from 'vitest'
import { SluiceError } from '../foundation/errors.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import type { Model } from '../resources/model.ts'
import type { Pod } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import { FakeCache, fakeModel } from './cluster-view.fixture.ts'
import { PodPool, type PodPoolOptions } from './pod-pool.ts'

/** A pool whose cluster a test fills by hand; it has the Model tiny, and probes that fail. */
export function setUp(options: Partial<PodPoolOptions> = {}) {
  const clock = new FakeClock()
  const pods = new FakeCache<Pod>()
  const models = new FakeCache<Model>()
  const secrets = new FakeCache<Secret>()
  models.put(fakeModel('tiny'))
  const pool = new PodPool({
    namespace: 'sluice',
    pods,
    models,
    secrets,
    clock,
    log: silentLogger,
    probe: () => Promise.resolve(false),
    ...options,
  })
  onTestFinished(() => pool.stop())
  return { clock, pods, models, secrets, pool }
}

export const never = new AbortController().signal
/** Lets promises and queued callbacks run. */
export const settled = () => new Promise((resolve) => setImmediate(resolve))
export const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof SluiceError ? error.code : String(error)),
  )

/** Resolves when the condition holds; it is looked at whenever something may have happened. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 50_000) throw new Error(`never happened: ${holds.toString()}`)
    await settled()
  }
}
