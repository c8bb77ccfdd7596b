import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPodReady } from '../../src/resources/pod.ts'
import { Inspector } from '../support/inspector.ts'
import { ModelStage, pidOf } from '../support/model-stage.ts'
import { useStubEngine } from '../support/stub-engine.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=1'], { NODE_OPTIONS: '--inspect=127.0.0.1:0' })

describe('sluice up whose main thread meets an error that nobody catches', () => {
  beforeAll(async () => {
    useStubEngine(stage)
    await stage.start()
    await stage.create('tiny')
  })
  afterAll(() => stage.destroy())

  it('ends with a line in the log, and the next start goes on with the Pods that run', async () => {
    const before = await stage.untilPod(isPodReady)
    const { exited } = stage.sluice
    const inspector = await Inspector.connect(stage.sluice.inspectorUrl)
    await inspector.evaluate("void setImmediate(() => { throw new Error('made by a test') })")
    // While an inspector is connected, the program would not exit.
    inspector.close()
    expect(await exited).toBe(1)
    const log = readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8')
    expect(log).toMatch(/"level":"fatal"[^\n]*made by a test[^\n]*"msg":"sluice ends: nobody caught an error"/)
    expect(() => process.kill(pidOf(before), 0)).not.toThrow()

    await stage.start()
    await stage.untilModel('tiny', ({ status }) => status?.phase === 'Ready')
    const after = await stage.untilPod(isPodReady)
    expect([after.metadata.uid, pidOf(after)]).toEqual([before.metadata.uid, pidOf(before)])
    expect((await stage.chat('tiny', { stream: true })).status).toBe(200)
  })
})
