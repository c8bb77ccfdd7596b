import { mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { labImages, tellingLabEngine } from '../support/lab-config.ts'
import { ModelStage } from '../support/model-stage.ts'
import { chromiumPath } from '../support/programs.ts'
import { ConsoleVisit, openBrowser } from './console.fixture.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2'])
stage.addFlags('--config', join(stage.data, 'config.yaml'))
const load = join(stage.folder, 'models/load.json')
const mine = mkdtempSync(join(tmpdir(), 'sluice-mine-'))
const mebibyte = 2 ** 20

/** What the engine says of its load from now on. It never sees half of it. */
function say(bytes: number): void {
  writeFileSync(`${load}.new`, JSON.stringify({ phase: 'reading', bytes, totalBytes: 640e9, stillSeconds: 0 }))
  renameSync(`${load}.new`, load)
}

describe.skipIf(chromiumPath === undefined)('the console adds a model', () => {
  let browser: Browser
  let visit: ConsoleVisit
  let page: Page

  beforeAll(async () => {
    const config = { images: labImages, engines: { Telling: tellingLabEngine } }
    writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
    await stage.start()
    mkdirSync(join(stage.folder, 'models'), { recursive: true })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await stage.destroy()
    rmSync(mine, { recursive: true })
  })
  beforeEach(async () => {
    visit = await ConsoleVisit.open(browser, stage)
    ;({ page } = visit)
    await visit.logIn()
    await page.getByRole('button', { name: 'Add a model' }).click()
  })
  afterEach(() => visit.close())

  const uploading = (model: string) => page.getByRole('article', { name: `Uploading ${model}` })
  const gathered = () => readdirSync(join(stage.data, 'uploads'))

  it('from this computer, goes on after the connection broke, and shows how far it is and how it loads', async () => {
    const file = join(mine, 'Big_Weights.bin')
    writeFileSync(file, Buffer.alloc(9 * mebibyte, 'weights'))
    // The second piece breaks on its way, and the one after the third waits until the bar was seen.
    const pieces: string[] = []
    const held = Promise.withResolvers<void>()
    await page.route('**/uploads/big-weights-bin/**', async (route: Route) => {
      pieces.push(new URL(route.request().url()).search)
      if (pieces.length === 2) return route.abort('connectionreset')
      if (pieces.length === 4) await held.promise
      return route.continue()
    })
    await page.getByText('This computer').click()
    await page.getByLabel('Files').setInputFiles(file)
    await page.getByText('1 chosen, 9 MiB').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('big-weights-bin')
    await page.getByLabel('Engine').fill('Telling')
    await visit.picture('upload-dialog')
    await visit.confirm()
    const tile = uploading('big-weights-bin')
    const bar = tile.getByRole('progressbar')
    await expect.poll(() => bar.getAttribute('value').then(Number)).toBeGreaterThan(0)
    expect(Number(await bar.getAttribute('value'))).toBeLessThan(100)
    expect(gathered()).toEqual([expect.stringMatching(/^big-weights-bin-/)])
    await visit.picture('uploading')
    // Other pages can be looked at meanwhile.
    await page.getByRole('link', { name: 'Pods' }).click()
    await page.getByRole('link', { name: 'Overview' }).click()
    held.resolve()
    await visit.state('big-weights-bin', 'Asleep')
    await tile.waitFor({ state: 'detached' })
    // Nothing was sent twice: after the piece that broke, the same place.
    expect(pieces[2]).toBe(pieces[1])
    expect(gathered()).toEqual([])
    const placed = join(stage.folder, 'models/big-weights-bin/Big_Weights.bin')
    expect(readFileSync(placed).equals(readFileSync(file))).toBe(true)

    say(288e9)
    await page.getByRole('button', { name: 'Wake big-weights-bin' }).click()
    await visit.confirm()
    const loading = visit.tile('big-weights-bin').getByRole('progressbar')
    await expect.poll(() => loading.getAttribute('value').catch(() => null), { timeout: 60_000 }).toBe('45')
    await visit.picture('loading')
    say(600e9)
    await expect.poll(() => loading.getAttribute('value'), { timeout: 60_000 }).toBe('93')
    rmSync(load)
    await visit.state('big-weights-bin', 'Ready')
    expect(await loading.count()).toBe(0)
  })

  it('from a folder of this computer, which then answers', async () => {
    const folder = join(mine, 'tiny-folder')
    mkdirSync(join(folder, 'further'), { recursive: true })
    await writeTinyModel(join(folder, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
    writeFileSync(join(folder, 'README.md'), 'about it')
    writeFileSync(join(folder, 'further/other.txt'), 'not a part of it')
    await page.getByText('This computer').click()
    await page.getByLabel('or a folder').setInputFiles(folder)
    await page.getByText('2 chosen').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('tiny-folder')
    await visit.confirm()
    await visit.state('tiny-folder', 'Asleep')
    expect(readdirSync(join(stage.folder, 'models/tiny-folder')).sort()).toEqual(['README.md', 'model.gguf'])
    expect((await stage.chat('tiny-folder')).status).toBe(200)
  })

  it('and stops when it is told to, with nothing left of it', async () => {
    const file = join(mine, 'stopped.bin')
    writeFileSync(file, Buffer.alloc(4 * mebibyte))
    let pieces = 0
    await page.route('**/uploads/stopped/**', (route: Route) => {
      pieces += 1
      return pieces < 3 ? route.continue() : undefined
    })
    await page.getByText('This computer').click()
    await page.getByLabel('Files').setInputFiles(file)
    await page.getByLabel('Name', { exact: true }).fill('stopped')
    await visit.confirm()
    await page.getByRole('button', { name: 'Stop uploading stopped' }).click()
    await uploading('stopped').getByText('stopped by hand').waitFor()
    await expect.poll(gathered).toEqual([])
    expect(() => statSync(join(stage.folder, 'models/stopped'))).toThrow('ENOENT')
    await page.getByRole('button', { name: 'Dismiss stopped' }).click()
    await uploading('stopped').waitFor({ state: 'detached' })
  })

  it('but not a file that is none, and says so before anything is sent', async () => {
    const file = join(mine, 'text.gguf')
    writeFileSync(file, 'only text')
    await page.getByText('This computer').click()
    await page.getByLabel('Files').setInputFiles(file)
    await visit.confirm()
    await page.getByRole('alert').filter({ hasText: 'text.gguf is no GGUF file' }).waitFor()
    await page.getByLabel('Files').setInputFiles([])
    await page.getByLabel('Name', { exact: true }).fill('nothing')
    await visit.confirm()
    await page.getByRole('alert').filter({ hasText: 'Choose a file or a folder' }).waitFor()
    expect(gathered()).toEqual([])
  })
})
