import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { labImages, tellingLabEngine } from '../support/lab-config.ts'
import { ModelStage } from '../support/model-stage.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'
import { picture } from './chat-page.fixture.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2'])
stage.addFlags('--config', join(stage.data, 'config.yaml'))
const load = join(stage.folder, 'models/load.json')

/** What the engine says of its load from now on. It never sees half of it. */
function say(bytes: number, stillSeconds = 0): void {
  writeFileSync(`${load}.new`, JSON.stringify({ phase: 'reading', bytes, totalBytes: 640e9, stillSeconds }))
  renameSync(`${load}.new`, load)
}

describe.skipIf(chromiumPath === undefined)('the chat page while a model wakes', () => {
  let browser: Browser

  beforeAll(async () => {
    const config = { images: labImages, engines: { Telling: tellingLabEngine } }
    writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
    await stage.start()
    mkdirSync(join(stage.folder, 'models'), { recursive: true })
    writeFileSync(join(stage.folder, 'models/weights.bin'), 'weights')
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(async () => {
    await browser?.close()
    await stage.destroy()
  })

  it('says what happens, how far it is with a bar, and that nothing moves, and never the name of a Pod', async () => {
    say(288e9)
    await stage.create('big', { url: 'pvc://userdata/models/weights.bin', engine: 'Telling', minReplicas: 0 })
    const page = await browser.newPage({ viewport: { width: 1100, height: 760 } })
    await page.goto(`${stage.sluice.endpoints.gateway}/`)
    await page.locator('#model-picker option[value=big]').waitFor({ state: 'attached', timeout: 60_000 })
    await page.getByTestId('composer').fill('Hi')
    await page.keyboard.press('Enter')

    const waking = page.getByTestId('waking')
    const bar = waking.getByRole('progressbar')
    const said = async (words: string) => {
      await waking.filter({ hasText: words }).waitFor({ timeout: 60_000 })
      const text = (await page.locator('main').textContent()) ?? ''
      expect(text).not.toMatch(/model-big-|\bPods?\b/)
    }
    await said('Reading its files: 45 %, 288 of 640 GB.')
    expect(await bar.getAttribute('value')).toBe('45')
    await page.getByTestId('model-state').filter({ hasText: 'waking, 45 %' }).waitFor()
    await picture(page, 'waking-bar')

    say(288e9, 60)
    await said('Nothing has moved for a while; its disk may be stuck.')
    say(600e9)
    await said('Reading its files: 93 %, 600 of 640 GB.')
    expect(await bar.getAttribute('value')).toBe('93')

    rmSync(load)
    await page.getByTestId('message-assistant').filter({ hasText: '7 bytes, 1 cards' }).waitFor({ timeout: 60_000 })
    expect(await bar.isVisible()).toBe(false)
    await page
      .getByTestId('model-state')
      .filter({ hasText: /^ready$/ })
      .waitFor()
    await page.close()
  })
})
