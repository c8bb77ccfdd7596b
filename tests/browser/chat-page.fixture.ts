import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32, deflateSync } from 'node:zlib'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { startGateway, startUpstream } from '../../src/gateway/gateway.fixture.ts'
import type { Model } from '../../src/resources/model.ts'
import { fakeModel } from '../../src/traffic/cluster-view.fixture.ts'

/** The built page. */
export const pageDirectory = fileURLToPath(new URL('../../web/dist', import.meta.url))
const results = fileURLToPath(new URL('../../.test-results/', import.meta.url))
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Asked {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }>
}

/** Answers a question in as many pieces as it likes. */
export type Answerer = (asked: Asked) => Iterable<string> | AsyncIterable<string>

/** The built page on a real gateway, whose models are of a server that the test answers for. */
export async function openChat(
  browser: Browser,
  options: { answer?: Answerer; models?: readonly Model[]; context?: BrowserContextOptions } = {},
) {
  const { answer = () => ['Hello.'], models = [fakeModel('tiny', 'Ready')] } = options
  const upstream = await startUpstream((request, response) => {
    if (request.url === '/v1/chat/completions') void stream(answer, request.body, response)
    else response.writeHead(404).end()
  })
  const gateway = await startGateway({ models, gateway: { chatPageDirectory: pageDirectory } })
  for (const { metadata } of models) gateway.addPod(`pod-${metadata.name}`, upstream.port, metadata.name)
  const context = await browser.newContext({ viewport: { width: 1100, height: 760 }, ...options.context })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())))
  page.on('pageerror', (error) => void problems.push(String(error)))
  onTestFinished(async () => {
    await context.close()
    // What the page's own rules forbid is reported here, too.
    expect(problems).toEqual([])
  })
  await page.goto(`${gateway.url}/`)
  return { page, context, gateway, upstream }
}

async function stream(answer: Answerer, body: Buffer, response: ServerResponse): Promise<void> {
  const asked = JSON.parse(body.toString()) as Asked
  const closed = once(response, 'close')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for await (const content of answer(asked)) {
    const chunk = { object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] }
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await Promise.race([once(response, 'drain'), closed])
  }
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { completion_tokens: 1 } }
  response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`)
}

/** Asks in the composer, and waits until the last answer is there. */
export async function ask(page: Page, text: string): Promise<void> {
  await page.getByTestId('composer').fill(text)
  await page.keyboard.press('Enter')
  await answered(page)
}

export async function answered(page: Page): Promise<void> {
  await page.locator('[data-testid=message-assistant][data-status=done]:last-child').waitFor({ timeout: 120_000 })
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(results, { recursive: true })
  await page.screenshot({ path: join(results, `chat-page-${name}.png`) })
}

/** Fonts and chunks have come, and nothing moves any more. */
export function settled(page: Page): Promise<unknown> {
  return page.evaluate(`Promise.all([
    document.fonts.ready,
    ...document.getAnimations().map(({ finished }) => finished.catch(() => undefined)),
  ]).then(() => undefined)`)
}

/** What axe finds serious or worse, as one line for each place. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Not added as a script of the page, which its rules forbid.
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => {
    const { axe } = globalThis as unknown as { axe: { run: () => Promise<{ violations: Violation[] }> } }
    return axe.run()
  })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
}

/** An awake model that can do this. */
export function modelWith(name: string, features: Model['spec']['features']): Model {
  const model = fakeModel(name, 'Ready')
  return { ...model, spec: { ...model.spec, features } }
}

/** A real PNG of one colour. */
export function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const whole = Buffer.alloc(body.length + 8)
    whole.writeUInt32BE(data.length, 0)
    body.copy(whole, 4)
    whole.writeUInt32BE(crc32(body), body.length + 4)
    return whole
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, 0x66)])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}
