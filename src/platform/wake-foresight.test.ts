import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { WakeStage, cardCount } from './wake-stage.fixture.ts'

async function expectWhatTheModelAsksFor(stage: WakeStage): Promise<void> {
  await stage.settle()
  const { replicas, pods, bound, running, cards } = await stage.state()
  expect(pods).toHaveLength(replicas)
  expect({ bound, running }).toEqual({ bound: pods, running: pods })
  expect(cards).toBe(replicas)
}

it('has the process of a wake running before any of it is durable, and ends it when it does not become durable', async () => {
  const stage = await new WakeStage(true).open()
  // The first Pod of a Model has to wait until its engine's key exists.
  stage.scale(1)
  await expectWhatTheModelAsksFor(stage)
  stage.scale(0)
  await expectWhatTheModelAsksFor(stage)
  stage.slowDisk()
  stage.scale(1)
  await stage.clock.advance(0)
  expect(await stage.state()).toMatchObject({ replicas: 0, pods: [], cards: 1 })
  stage.fail()
  await expectWhatTheModelAsksFor(stage)
  expect(await stage.state()).toMatchObject({ replicas: 0, cards: 0 })
  stage.close()
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('scale' as const), to: fc.nat(cardCount) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('commit' as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('fail' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('crash' as const), reachedDisk: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.nat(3000) }) },
)

it.each([
  ['with foresight', true, 10],
  ['without it', false, 3],
])(
  'ends in what the Model asks for, whatever is written, fails or crashes in which order: %s',
  async (_how, foresees, numRuns) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const stage = await new WakeStage(foresees).open()
        for (const each of steps) {
          if (each.does === 'scale') stage.scale(each.to)
          else if (each.does === 'commit') stage.commit()
          else if (each.does === 'fail') stage.fail()
          else if (each.does === 'crash') await stage.crash(each.reachedDisk)
          await stage.clock.advance(each.does === 'wait' ? each.ms : 0)
        }
        await expectWhatTheModelAsksFor(stage)
        // What was taken back holds no cards: there is room for all of them.
        stage.scale(cardCount)
        await expectWhatTheModelAsksFor(stage)
        expect(await stage.state()).toMatchObject({ replicas: cardCount, cards: cardCount })
        stage.close()
      }),
      { numRuns },
    )
  },
  180_000,
)
