import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, startUpstream } from '../../src/gateway/gateway.fixture.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'

const script = `document.title = 'ran'; localStorage.setItem('sluice.api-key', 'stolen')`
const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>${script}</script></svg>`

/** What a model's server may answer, and with which content type. */
const answers: Readonly<Record<string, { readonly type?: string; readonly body: string }>> = {
  'a page': { type: 'text/html', body: `<script>${script}</script><p id="end">end</p>` },
  'a page without a type': { body: `<!doctype html><html><script>${script}</script></html>` },
  'a picture': { type: 'image/svg+xml', body: svg },
  'a page that says it may': {
    type: 'application/xhtml+xml',
    body: `<html xmlns="http://www.w3.org/1999/xhtml"><head><script>${script}</script></head><body/></html>`,
  },
}

describe.skipIf(chromiumPath === undefined)('what a model’s server answers, opened in a browser', () => {
  let browser: Browser
  let directory: string

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-page-'))
    writeFileSync(join(directory, 'index.html'), '<title>chat</title><link rel="icon" href="data:,">')
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(async () => {
    await browser?.close()
    rmSync(directory, { recursive: true })
  })

  it.each(Object.keys(answers))('runs no script where the chat page keeps its key: %s', async (what) => {
    const { type, body } = answers[what] ?? { body: '' }
    const upstream = await startUpstream((_request, response) => {
      const headers = {
        'content-security-policy': "script-src * 'unsafe-inline'",
        'x-frame-options': 'ALLOWALL',
      }
      response.writeHead(200, type === undefined ? headers : { ...headers, 'content-type': type }).end(body)
    })
    const { url, addPod } = await startGateway({ gateway: { chatPageDirectory: directory } })
    addPod('one', upstream.port)
    const page = await browser.newPage()
    const opening = page.goto(`${url}/openai/api/v1/page?model=tiny`)
    const opened = await opening.then(() => 'shown', String)
    // What is not shown is downloaded as a file, and then cannot run either.
    expect(opened).toMatch(/^shown$|Download is starting/)
    expect(await page.title()).not.toBe('ran')
    await page.goto(`${url}/`)
    expect(await page.evaluate(() => localStorage.getItem('sluice.api-key'))).toBeNull()
    await page.close()
  })
})
