import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, type Page, chromium } from 'playwright-core'
import { z } from 'zod'
import type { ModelStage } from '../support/model-stage.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'

const results = fileURLToPath(new URL('../../.test-results/', import.meta.url))
const credentials = z.object({ accessKey: z.string(), secretKey: z.string() })
type KeyPair = z.infer<typeof credentials>

/** A real browser at the console of a stage. */
export class ConsoleVisit {
  readonly stage: ModelStage
  readonly page: Page
  readonly context: BrowserContext
  readonly #problems: string[] = []

  constructor(stage: ModelStage, context: BrowserContext, page: Page) {
    this.stage = stage
    this.context = context
    this.page = page
    page.on('pageerror', (error) => this.#problems.push(String(error)))
    page.on('console', (message) => {
      // The browser reports each refusal of the server as an error, too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.#problems.push(message.text())
    })
  }

  static async open(browser: Browser, stage: ModelStage, options: BrowserContextOptions = {}): Promise<ConsoleVisit> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
    const visit = new ConsoleVisit(stage, context, await context.newPage())
    await visit.page.goto(visit.url)
    return visit
  }

  /** Fails if anything went wrong in the page. */
  async close(): Promise<void> {
    await this.context.close()
    if (this.#problems.length > 0) throw new Error(this.#problems.join('\n'))
  }

  get url(): string {
    return `${this.stage.sluice.endpoints.management}/`
  }

  get pair(): KeyPair {
    return credentials.parse(JSON.parse(readFileSync(join(this.stage.data, 'credentials.json'), 'utf8')))
  }

  async logIn({ accessKey, secretKey }: KeyPair = this.pair): Promise<void> {
    await this.page.getByLabel('Access key').fill(accessKey)
    await this.page.getByLabel('Secret key').fill(secretKey)
    await this.page.getByRole('button', { name: 'Open the console' }).click()
  }

  show(hash: string): Promise<unknown> {
    return this.page.goto(`${this.url}${hash}`)
  }

  tile(model: string) {
    return this.page.getByRole('article', { name: `Model ${model}` })
  }

  state(model: string, word: string): Promise<void> {
    return this.tile(model).getByTestId('state').filter({ hasText: word }).waitFor({ timeout: 60_000 })
  }

  /** Answers a question of the page with yes. */
  confirm(): Promise<void> {
    return this.page.getByTestId('confirm').click()
  }

  async picture(name: string): Promise<void> {
    mkdirSync(results, { recursive: true })
    await this.page.screenshot({ path: join(results, `console-${name}.png`), fullPage: true })
  }
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
}
