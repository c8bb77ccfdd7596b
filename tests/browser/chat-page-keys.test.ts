import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ApiKey, apiKeyKind } from '../../src/resources/api-key.ts'
import { ModelStage } from '../support/model-stage.ts'
import { chromiumFlags, chromiumPath, runProgram } from '../support/programs.ts'

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const results = new URL('../../.test-results/', import.meta.url).pathname
const stage = new ModelStage(['--require-api-keys'])
const stored = 'sluice.api-key'

describe.skipIf(chromiumPath === undefined)('the chat page of a gateway that asks for keys', () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let key: string

  /** The gateway follows the keys from a thread of its own, so it hears of a change a little later. */
  const gatewayHasHeard = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 50 })
  const makeKey = async (name: string) => {
    const made = await runProgram(process.execPath, [program, 'key', 'create', name, '--data', stage.data])
    const authorization = `Bearer ${made.stdout.trim()}`
    await gatewayHasHeard(async () => {
      const response = await fetch(`${stage.sluice.endpoints.gateway}/openai/v1/models`, { headers: { authorization } })
      expect(response.status).toBe(200)
    })
    return made.stdout.trim()
  }
  const changeKey = (spec: Partial<ApiKey['spec']>) => stage.client.patch(apiKeyKind, { name: 'reader' }, { spec })
  const refusedWith = (code: string) =>
    gatewayHasHeard(async () => {
      const response = await fetch(`${stage.sluice.endpoints.gateway}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 }),
      })
      expect(await response.json()).toMatchObject({ error: { code } })
    })
  const message = () => page.getByTestId('key-message')
  const open = async (inContext = context) => {
    page = await inContext.newPage()
    await page.goto(`${stage.sluice.endpoints.gateway}/`)
  }
  const enter = async (text: string) => {
    await page.getByTestId('key-input').fill(text)
    await page.getByTestId('key-submit').click()
  }
  const ready = () => page.locator('#model-picker option[value=tiny]').waitFor({ state: 'attached' })
  const ask = async () => {
    await page.getByTestId('composer').fill('Hi')
    await page.keyboard.press('Enter')
  }
  /** Stops the answer once it has begun, since the tiny model would go on to the end of its context. */
  const answered = async () => {
    await page.locator('[data-testid=message-assistant][data-status=streaming]').waitFor({ timeout: 60_000 })
    await page.getByTestId('stop').click()
    await page.getByTestId('stats').waitFor()
    expect(await page.getByTestId('error').count()).toBe(0)
  }
  /** What the page has stored, in the tab and in the browser. */
  const kept = () => page.evaluate((name) => [sessionStorage.getItem(name), localStorage.getItem(name)], stored)
  const picture = (name: string) => page.screenshot({ path: join(results, `chat-page-${name}.png`) })

  beforeAll(async () => {
    mkdirSync(results, { recursive: true })
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('tiny', { minReplicas: 1 })
    key = await makeKey('reader')
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(async () => {
    await browser?.close()
    await stage.destroy()
  })
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1100, height: 760 } })
    await open()
  })
  afterEach(() => context.close())

  it('asks for a key with the gateway’s sentence, says what is wrong with one, and answers with a good one', async () => {
    await page.getByTestId('key-form').waitFor()
    expect(await message().textContent()).toContain('This gateway asks for an API key, and no API key was sent.')
    expect(await page.getByTestId('composer').isVisible()).toBe(false)
    await picture('key-asked')

    await enter('not a key')
    expect(await message().textContent()).toContain('without spaces')
    await enter('sk-0123456789abcdef0123-wrongwrongwrongwrong')
    await message().filter({ hasText: 'the API key that was sent is not valid' }).waitFor()
    expect(await kept()).toEqual([null, null])
    await picture('key-refused')

    await enter(`Bearer ${key}`)
    await ready()
    expect(await page.getByTestId('key-form').isVisible()).toBe(false)
    expect(await kept()).toEqual([key, null])
    await ask()
    await answered()
    await page.reload()
    await ready()
  })

  it('remembers a key in the browser where that is wanted, and forgets it in every tab', async () => {
    await page.getByTestId('key-remember').check()
    await enter(key)
    await ready()
    expect(await kept()).toEqual([null, key])
    const first = page
    await open()
    await ready()
    await page.getByTestId('settings').click()
    expect(await page.getByTestId('key-kept').textContent()).toBe(`${key.slice(0, 9)}… · kept in this browser`)
    await picture('key-settings')
    await page.getByTestId('key-change').click()
    await page.getByTestId('key-form').waitFor()
    await page.keyboard.press('Escape')
    await page.getByTestId('composer').waitFor()
    await page.getByTestId('settings').click()
    await page.getByTestId('key-forget').click()
    await page.getByTestId('key-form').waitFor()
    expect(await kept()).toEqual([null, null])
    await first.getByTestId('key-form').waitFor()
    expect(await first.getByTestId('key-message').textContent()).toContain('no API key was sent')
  })

  it('says in a sentence what a key may not do, and asks for another when it is disabled', async () => {
    await enter(key)
    await ready()
    // The model list is delayed, so that the page does not yet know that the key has lost its access. A list that was
    // asked for before is no longer under way once one has been held.
    await new Promise<void>((held) => void page.route('**/openai/v1/models', () => held()))
    await changeKey({ allowedModels: ['other'] })
    await refusedWith('model_not_allowed')
    await ask()
    const failure = page.getByTestId('error')
    await failure.waitFor()
    expect(await failure.textContent()).toMatch(/This API key does not allow .*model_not_allowed/)

    await changeKey({ disabled: true })
    await refusedWith('key_disabled')
    await failure.getByRole('button').click()
    await failure.filter({ hasText: /This API key is disabled\..*key_disabled/ }).waitFor()
    await page.unroute('**/openai/v1/models')
    await message().filter({ hasText: 'This API key is disabled.' }).waitFor()
    await picture('key-disabled')

    await enter(await makeKey('another'))
    await ready()
    await failure.getByRole('button').click()
    await answered()
  })
})
