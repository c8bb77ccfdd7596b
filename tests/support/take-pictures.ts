// Takes the pictures of docs/pictures again, of the real pages of a new Sluice: `node tests/support/take-pictures.ts`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type Page, chromium } from 'playwright-core'
import { z } from 'zod'
import { chromiumFlags, chromiumPath, runProgram } from './programs.ts'
import { SluiceProcess } from './sluice-process.ts'

const root = join(import.meta.dirname, '../..')
const credentials = z.object({ accessKey: z.string(), secretKey: z.string() })
const patience = { timeout: 120_000 }

const data = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))
const sluice = await SluiceProcess.start(data)
const browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
try {
  await chatPage(browser)
  await consolePage(browser)
} finally {
  await browser.close()
  await sluice.stop()
  rmSync(data, { recursive: true, force: true })
}

/** A question to the sleeping model: what is seen while it wakes, and its answer. */
async function chatPage(browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 900, height: 560 } })
  await page.goto(`${sluice.endpoints.gateway}/`)
  await page.locator('#model-picker option[value=smollm2]').waitFor({ ...patience, state: 'attached' })
  await page.getByTestId('composer').fill('What is the capital of France?')
  await page.keyboard.press('Enter')
  await page.getByTestId('model-state').filter({ hasText: 'waking' }).waitFor(patience)
  await take(page, 'chat-waking')
  await page.locator('[data-testid=message-assistant][data-status=done]:last-child').waitFor(patience)
  await take(page, 'chat')
  await page.close()
}

/** Two further models beside the one that was asked, one of them put to sleep again. */
async function consolePage(browser: Browser): Promise<void> {
  const source = 'pvc://userdata/models/smollm2'
  await command('model', 'add', source, '--name', 'support', '--max', '2')
  await command('model', 'add', source, '--name', 'summaries')
  await command('wake', 'support')
  await command('sleep', 'smollm2')
  await ask('support', 'How do I reset my password?')
  const page = await browser.newPage({ viewport: { width: 1200, height: 810 } })
  await page.goto(`${sluice.endpoints.management}/`)
  const { accessKey, secretKey } = credentials.parse(JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8')))
  await page.getByLabel('Access key').fill(accessKey)
  await page.getByLabel('Secret key').fill(secretKey)
  await page.getByRole('button', { name: 'Open the console' }).click()
  await page.getByRole('article', { name: 'Model support' }).waitFor(patience)
  await page.getByRole('region', { name: 'Wakes' }).getByText('support').waitFor(patience)
  await take(page, 'console')
  await page.close()
}

/** Asks for a short answer: a long one takes a slow machine minutes. */
async function ask(model: string, content: string): Promise<void> {
  const answer = await fetch(`${sluice.endpoints.gateway}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_tokens: 8 }),
    signal: AbortSignal.timeout(patience.timeout),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

async function command(...words: string[]): Promise<void> {
  const { code, stderr } = await runProgram(join(root, 'bin/sluice'), [...words, '--data', data])
  if (code !== 0) throw new Error(`sluice ${words.join(' ')}: ${stderr}`)
}

async function take(page: Page, name: string): Promise<void> {
  const picture = await page.screenshot({ animations: 'disabled' })
  writeFileSync(join(root, 'docs/pictures', `${name}.png`), picture)
  console.log(`docs/pictures/${name}.png: ${Math.round(picture.length / 1024)} KB`)
}
