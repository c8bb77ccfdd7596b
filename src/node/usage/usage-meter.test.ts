import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { UsageMeter, type UsageSample } from './usage-meter.ts'

const mebibytes = 2 ** 20

function stage() {
  const clock = new FakeClock(1_000_000)
  const looks: UsageSample[] = []
  let seen = 0
  const meter = new UsageMeter(clock, async () => {
    const sample = looks[seen++]
    if (!sample) throw new Error('nobody was to look')
    return sample
  })
  const sees = (machineMs: number, ...containers: ReadonlyArray<readonly [string, number, number]>) =>
    looks.push({
      machine: { cpuMs: machineMs, memoryBytes: 500 * mebibytes },
      containers: containers.map(([container, cpuMs, startedAt]) => {
        return { podUid: 'pod', container, startedAt, cpuMs, memoryBytes: 100 * mebibytes }
      }),
    })
  return { clock, meter, sees, looked: () => seen }
}

describe('UsageMeter', () => {
  it('looks twice for who asks first, a second apart, and tells all who ask meanwhile the same', async () => {
    const { clock, meter, sees, looked } = stage()
    sees(10_000, ['main', 4_000, 900_000])
    sees(11_500, ['main', 4_250, 900_000])
    const both = Promise.all([meter.measure(), meter.measure()])
    await clock.advance(1_000)
    const [one, other] = await both
    expect(other).toBe(one)
    expect(one).toEqual({
      endedAt: 1_001_000,
      windowMs: 1_000,
      machine: { cpus: 1.5, memoryBytes: 500 * mebibytes },
      containers: [{ podUid: 'pod', container: 'main', cpus: 0.25, memoryBytes: 100 * mebibytes }],
    })
    await clock.advance(4_999)
    expect(await meter.measure()).toBe(one)
    expect(looked()).toBe(2)
    expect(clock.pendingTimers).toBe(0)
  })

  it('tells later ones what was used since the last look, at once, unless that was long ago', async () => {
    const { clock, meter, sees, looked } = stage()
    sees(0, ['main', 0, 900_000])
    sees(0, ['main', 0, 900_000])
    void meter.measure()
    await clock.advance(1_000)
    sees(30_000, ['main', 15_000, 900_000])
    await clock.advance(30_000)
    expect(await meter.measure()).toMatchObject({ windowMs: 30_000, machine: { cpus: 1 }, containers: [{ cpus: 0.5 }] })
    await clock.advance(60_001)
    sees(40_000)
    sees(40_500)
    const after = meter.measure()
    await clock.advance(1_000)
    expect(await after).toMatchObject({ windowMs: 1_000, machine: { cpus: 0.5 }, containers: [] })
    expect(looked()).toBe(5)
  })

  it('counts a container that is new since its start, also one of the same name', async () => {
    const { clock, meter, sees } = stage()
    sees(0, ['main', 9_000, 900_000])
    sees(0, ['main', 100, 1_000_800], ['side', 50, 1_000_900])
    const measured = meter.measure()
    await clock.advance(1_000)
    expect((await measured).containers).toMatchObject([
      { container: 'main', cpus: 0.5 },
      { container: 'side', cpus: 0.5 },
    ])
  })

  it('never goes below nothing, and is asked again after a look that failed', async () => {
    const { clock, meter, sees } = stage()
    await expect(meter.measure()).rejects.toThrow('nobody was to look')
    // The failed look was the first of these.
    sees(0)
    sees(0, ['main', 700, 900_000])
    sees(0, ['main', 200, 900_000])
    const measured = meter.measure()
    await clock.advance(1_000)
    expect((await measured).containers).toMatchObject([{ cpus: 0 }])
  })
})
