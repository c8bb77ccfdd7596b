import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isolationModes } from './isolation/permitted-modes.fixture.ts'
import { RuntimeStage } from './containers/running-containers.fixture.ts'

let stage: RuntimeStage
afterEach(() => stage.close())

const here = (file: string) => JSON.stringify(join(import.meta.dirname, file))
const count = 18
const atOnce = 6

/**
 * Starts containers, several at a time. Each notes that it ran, and ends with its own exit code. Whenever one has
 * started, the next begins, so that at any moment they are at different steps.
 */
const program = (dataDir: string, mode: string) => `
  import { ProcessRuntime } from ${here('process-runtime.ts')}
  import { ImageStore } from ${here('images/image-store.ts')}
  import { LogHub } from ${here('logs/log-hub.ts')}
  import { systemClock } from ${here('../foundation/clock.ts')}
  import { silentLogger } from ${here('../foundation/log.ts')}
  const images = new ImageStore({ 'r/sh': { command: ['/bin/sh', '-c'] } })
  const options = { dataDir: ${JSON.stringify(dataDir)}, images, clock: systemClock, log: silentLogger }
  const runtime = new ProcessRuntime({ ...options, logHub: new LogHub(), isolation: ${JSON.stringify(mode)} })
  await runtime.adopt()
  const start = async (n) => {
    const args = ['echo ran >>/ran/' + n + '; ' + (n % 3 === 0 ? 'sleep 0.2; ' : '') + 'exit ' + n]
    const volumeMounts = [{ name: 'ran', mountPath: '/ran' }]
    const volumes = [{ name: 'ran', persistentVolumeClaim: { claimName: 'ran' } }]
    const container = { name: 'main', image: 'r/sh', args, volumeMounts }
    const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u-' + n }, spec: { containers: [container], volumes } }
    await runtime.start({ pod, container, attempt: 0, podIP: '127.64.200.2', cards: [] }, new AbortController().signal)
    console.log('one')
  }
  let last = 0
  await Promise.all(Array.from({ length: ${atOnce} }, async () => {
    while (last < ${count}) await start(++last)
  }))
  setInterval(() => {}, 1000)`

/** How often each container ran. */
function runs(): number[] {
  return Array.from({ length: count }, (_, index) => {
    const path = join(stage.dataDir, 'volumes', 'ran', String(index + 1))
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
  })
}

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`containers ${name} that are started while the program is killed`, () => {
    beforeEach(() => {
      stage = new RuntimeStage(mode)
      mkdirSync(join(stage.dataDir, 'volumes', 'ran'), { recursive: true })
    })

    for (const started of [1, atOnce, count]) {
      it(`have run once and are known with their codes, or have not run (when ${started} have been started)`, async () => {
        const args = ['--input-type=module', '-e', program(stage.dataDir, mode)]
        const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
        const exited = once(parent, 'exit')
        let said = ''
        for await (const chunk of parent.stdout) {
          said += String(chunk)
          if (said.split('\n').length > started) break
        }
        parent.kill('SIGKILL')
        await exited
        const runtime = stage.runtime()
        const left = await runtime.adopt()
        await Promise.all(left.map(({ exited }) => exited))
        const known = Array.from({ length: count }, (_, index) => runtime.unsettled(`u-${index + 1}`)[0]?.exit.exitCode)
        const expected = runs().map((ran, index) => (ran > 0 ? index + 1 : undefined))
        expect(known).toEqual(expected)
        expect(Math.max(...runs())).toBeLessThanOrEqual(1)
      })
    }
  })
}
