import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { apiKeyKind } from '../../src/resources/api-key.ts'
import { modelKind } from '../../src/resources/model.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { chromiumPath } from '../support/programs.ts'
import { ConsoleVisit, openBrowser } from './console.fixture.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=4'])

describe.skipIf(chromiumPath === undefined)('the console', () => {
  let browser: Browser
  let visit: ConsoleVisit
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('other', { minReplicas: 0, maxReplicas: 2 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await stage.destroy()
  })
  beforeEach(async () => {
    visit = await ConsoleVisit.open(browser, stage)
    ;({ context, page } = visit)
  })
  afterEach(() => visit.close())

  it('opens with a key pair and with nothing else, and closes at a logout', async () => {
    await visit.logIn({ ...visit.pair, secretKey: 'wrong' })
    await page.getByRole('alert').filter({ hasText: 'do not open the console' }).waitFor()
    await visit.picture('refused')
    await visit.logIn()
    await visit.tile('other').waitFor()
    expect(await context.cookies(`${stage.sluice.endpoints.management}/api/console/v1/live`)).toMatchObject([
      { httpOnly: true, sameSite: 'Strict', path: '/api/console/v1/' },
    ])
    expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0])
    await page.reload()
    await visit.tile('other').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Access key').waitFor()
    await page.reload()
    await page.getByLabel('Access key').waitFor()
  })

  it('adds a model, wakes it with a confirmation, shows how it got ready and its log, puts it to sleep, and removes it', async () => {
    await visit.logIn()
    await page.getByRole('button', { name: 'Add a model' }).click()
    await page.getByText('Server', { exact: true }).click()
    await page.getByLabel('Path in a claim').fill('pvc://userdata/models/tiny')
    await page.getByLabel('Name', { exact: true }).fill('Not a name')
    await visit.confirm()
    await page.getByRole('alert').filter({ hasText: 'lower-case letters' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('tiny')
    await visit.picture('add')
    await visit.confirm()
    await visit.state('tiny', 'Asleep')
    await page.getByRole('button', { name: 'Wake tiny' }).click()
    await page.keyboard.press('Escape')
    expect((await stage.model('tiny')).spec.replicas ?? 0).toBe(0)
    await page.getByRole('button', { name: 'Wake tiny' }).click()
    await visit.confirm()
    await visit.state('tiny', 'Ready')
    await page.getByRole('list').filter({ hasText: 'tiny: waiting for requests' }).waitFor()
    await page.getByRole('region', { name: 'Wakes' }).getByText('tiny').waitFor()
    await visit.picture('awake')

    await visit.tile('tiny').getByRole('link', { name: 'tiny' }).click()
    await page.getByRole('region', { name: 'Events' }).getByText('Created').first().waitFor()
    await page.getByRole('region', { name: 'Pods' }).getByRole('link').first().click()
    await page.getByTestId('log').filter({ hasText: /\w/ }).waitFor()
    await visit.picture('log')

    await visit.show('#/overview')
    await page.getByRole('button', { name: 'Put to sleep: tiny' }).click()
    await visit.confirm()
    await visit.state('tiny', 'Asleep')
    expect((await stage.model('tiny')).spec.replicas).toBe(0)
    const audit = readFileSync(join(stage.data, 'logs/audit.log'), 'utf8')
    expect(audit).toContain('"sluice.dev/by":"console"')

    await visit.show('#/models/tiny')
    await page.getByRole('button', { name: 'Remove tiny' }).click()
    await visit.picture('remove')
    await visit.confirm()
    await visit.tile('other').waitFor()
    await visit.tile('tiny').waitFor({ state: 'detached' })
    expect(await stage.client.get(modelKind, { namespace, name: 'tiny' })).toBeUndefined()
  })

  it('fetches a model from elsewhere, and says why it could not', async () => {
    await visit.logIn()
    await page.getByRole('button', { name: 'Add a model' }).click()
    await page.getByLabel('Address').fill('https://127.0.0.1:9/far.gguf')
    await page.getByLabel('Name', { exact: true }).fill('far')
    await visit.confirm()
    const pull = page.getByRole('article', { name: 'Fetching far' })
    await pull.getByText('Not fetched').waitFor({ timeout: 60_000 })
    await pull.getByText('could not be fetched').waitFor()
    await page.getByRole('button', { name: 'Dismiss far' }).click()
    await pull.waitFor({ state: 'detached' })
    expect(
      (await stage.client.list(modelKind, { namespace })).items.map(({ metadata }) => metadata.name),
    ).not.toContain('far')
  })

  it('edits the YAML of a model, which the cluster checks before it is saved', async () => {
    await visit.logIn()
    await visit.show('#/models/other')
    const text = page.getByRole('textbox', { name: 'YAML' })
    await expect.poll(() => text.inputValue()).toContain('maxReplicas: 2')
    const before = await text.inputValue()
    const note = (words: string) => page.getByRole('status').filter({ hasText: words }).waitFor()
    await text.fill(before.replace('maxReplicas: 2', 'maxReplicas: none'))
    await page.getByRole('button', { name: 'Check' }).click()
    await note('spec.maxReplicas')
    await text.fill(before.replace('maxReplicas: 2', 'maxReplica: 4'))
    await page.getByRole('button', { name: 'Check' }).click()
    await note('unknown field "spec.maxReplica"')
    await text.fill(before.replace('maxReplicas: 2', 'maxReplicas: 4'))
    await page.getByRole('button', { name: 'Check' }).click()
    await note('The cluster would take this.')
    expect((await stage.model('other')).spec.maxReplicas).toBe(2)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await visit.confirm()
    await note('Saved.')
    expect((await stage.model('other')).spec.maxReplicas).toBe(4)
    await visit.picture('yaml')
  })

  it('makes a key, shows its secret once, revokes it, and has both in the audit log', async () => {
    await visit.logIn()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByLabel('Name', { exact: true }).fill('app')
    await visit.confirm()
    expect(await page.getByTestId('secret').textContent()).toMatch(/^sk-/)
    await visit.picture('keys')
    await page.getByRole('button', { name: 'Revoke app' }).click()
    await visit.confirm()
    await page.getByRole('button', { name: 'Revoke app' }).waitFor({ state: 'detached' })
    expect(await stage.client.get(apiKeyKind, { name: 'app' })).toBeUndefined()
    await page.getByRole('link', { name: 'Audit' }).click()
    const row = page.getByRole('row').filter({ hasText: 'delete apikeys' })
    // The log is written a moment after what it tells of.
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Read again' }).click()
        return row.count()
      })
      .toBeGreaterThan(0)
    expect(await row.first().textContent()).toContain('sluice:access-key:')
  })

  it('shows a change that somebody else makes, without being asked', async () => {
    await visit.logIn()
    await visit.tile('other').waitFor()
    await stage.create('later', { minReplicas: 0 })
    await visit.tile('later').waitFor()
    expect(await visit.tile('later').getByTestId('state').textContent()).toBe('Asleep')
  })

  it('fits on a phone, and in the dark', async () => {
    await page.setViewportSize({ width: 400, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await visit.logIn()
    await visit.tile('other').waitFor()
    const wider = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
    expect(wider).toBe(false)
    await visit.picture('phone-dark')
  })
})
