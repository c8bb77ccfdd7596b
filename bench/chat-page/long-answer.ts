/**
 * Whether a long answer scrolls smoothly: the times between frames of the built chat page in a real Chromium while
 * `--tokens 10000` arrive, beside those of the same page at rest. `node bench/chat-page/long-answer.ts [--rate 200]`
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Page, chromium } from 'playwright-core'
import { z } from 'zod'
import { BuiltPage } from '../../src/foundation/built-page.ts'
import { chromiumFlags, chromiumPath } from '../../tests/support/programs.ts'
import { freePort } from '../gateway/pinned-process.ts'
import { median, percentile } from '../gateway/statistics.ts'

const { values } = parseArgs({
  options: { tokens: { type: 'string', default: '10000' }, rate: { type: 'string', default: '200' } },
})
const tokens = Number(values.tokens)
const perSecond = Number(values.rate)
/** Tokens arrive in as many pieces as this in a second, as they do when several are computed at once. */
const pieces = 50
const restMs = 3_000
const question = z.object({ model: z.string() })
const page = BuiltPage.load(fileURLToPath(new URL('../../web/dist', import.meta.url)), { policy: [] })

/** What answers are made of; a token is about four characters. */
const kinds: Readonly<Record<string, { readonly start: string; readonly line: (index: number) => string }>> = {
  prose: {
    start: '',
    line: (index) => `Sentence ${index} of a *long* answer, with \`code\` and **weight** in it.\n\n`,
  },
  code: { start: '```ts\n', line: (index) => `export const value${index} = compute(${index}, 'water') // flows\n` },
  table: { start: '| a | b | c |\n|--:|---|---|\n', line: (index) => `| ${index} | **cell** ${index} | and more |\n` },
  list: { start: '', line: (index) => `- item ${index} with \`code\`\n` },
  maths: { start: '', line: (index) => `The sum $\\sum_{n=1}^{${index}} \\frac{1}{n^2}$ converges.\n\n` },
}

function answerOf(kind: string): string {
  const { start = '', line = String } = kinds[kind] ?? {}
  let written = start
  for (let index = 0; written.length < tokens * 4; index += 1) written += line(index)
  return written
}

async function stream(response: ServerResponse, whole: string): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const size = Math.ceil((4 * perSecond) / pieces)
  const startedAt = performance.now()
  for (let at = 0, sent = 0; at < whole.length; at += size, sent += 1) {
    const chunk = { choices: [{ index: 0, delta: { content: whole.slice(at, at + size) } }] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    await sleep(Math.max(0, startedAt + (sent * 1000) / pieces - performance.now()))
  }
  response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/openai/v1/models') {
    response.end(JSON.stringify({ object: 'list', data: Object.keys(kinds).map((id) => ({ id, object: 'model' })) }))
  } else if (request.url === '/openai/v1/chat/completions') {
    const { model } = question.parse(JSON.parse(await text(request)))
    await stream(response, answerOf(model))
  } else {
    const file = page.answer(request.url ?? '/', undefined)
    response.writeHead(file?.status ?? 404, file && Object.fromEntries(file.headers)).end(file?.body)
  }
}

/** Frame times in the page from now on. */
const record = `
  globalThis.frames = []
  let last = performance.now()
  const next = (now) => { frames.push(now - last); last = now; globalThis.timer = requestAnimationFrame(next) }
  cancelAnimationFrame(globalThis.timer)
  globalThis.timer = requestAnimationFrame(next)
`
const recorded = (chat: Page) => chat.evaluate<number[]>('frames.slice(1)')

function row(name: string, frames: readonly number[], resting: number): void {
  const typical = median(frames)
  const late = frames.filter((ms) => ms > 50).length
  console.log(
    name.padEnd(10),
    `${typical.toFixed(1)} ms`.padStart(10),
    `${percentile(Float64Array.from(frames).sort(), 0.99).toFixed(1)} ms`.padStart(10),
    `${Math.max(...frames).toFixed(0)} ms`.padStart(8),
    `${late} of ${frames.length}`.padStart(14),
    `${(typical / resting).toFixed(2)}×`.padStart(8),
  )
}

const port = await freePort()
const server = createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1')
const browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
try {
  console.log(`${tokens} tokens at ${perSecond} a second`)
  console.log('answer        median        p99    worst     over 50 ms  to rest')
  let resting: number | undefined
  for (const kind of Object.keys(kinds)) {
    const chat = await browser.newPage({ viewport: { width: 1100, height: 760 } })
    await chat.goto(`http://127.0.0.1:${port}/`)
    await chat.locator(`#model-picker option[value=${kind}]`).waitFor({ state: 'attached' })
    if (resting === undefined) {
      await chat.evaluate(record)
      await sleep(restMs)
      const frames = await recorded(chat)
      resting = median(frames)
      row('at rest', frames, resting)
    }
    await chat.locator('#model-picker').selectOption(kind)
    await chat.getByTestId('composer').fill('Tell me at length.')
    await chat.evaluate(record)
    await chat.keyboard.press('Enter')
    await chat.locator('[data-testid=message-assistant][data-status=done]').waitFor({ timeout: 600_000 })
    row(kind, await recorded(chat), resting)
    await chat.close()
  }
} finally {
  await browser.close()
  server.close()
}
