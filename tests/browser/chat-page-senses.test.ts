import { type Browser, type Page, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, startUpstream } from '../../src/gateway/gateway.fixture.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'
import { answered, modelWith, openChat, pageDirectory, picture, png } from './chat-page.fixture.ts'

interface SentPart {
  readonly type: string
  readonly text?: string
  readonly image_url?: { readonly url: string }
}

describe.skipIf(chromiumPath === undefined)('pictures and speech on the chat page', () => {
  let browser: Browser

  beforeAll(async () => {
    // A microphone that plays a tone, and nobody who has to allow it.
    const microphone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: [...chromiumFlags, ...microphone] })
  })
  afterAll(() => browser?.close())

  const attach = (page: Page, name: string, mimeType: string, buffer: Buffer) =>
    page.getByTestId('attach-input').setInputFiles({ name, mimeType, buffer })

  it('sends a picture, scaled down, to a model that sees, and keeps it with the chat', async () => {
    const models = [modelWith('seeing', ['TextGeneration', 'Vision']), modelWith('blind', ['TextGeneration'])]
    const { page, upstream } = await openChat(browser, { models, answer: () => ['Grey.'] })
    await page.getByTestId('model-picker').selectOption('seeing')
    await page.getByTestId('attach').waitFor()
    await attach(page, 'grey.png', 'image/png', png(2_000, 1_000))
    await page.getByTestId('attachments').locator('img').waitFor()
    await page.getByTestId('composer').fill('Which colour?')
    await picture(page, 'attached')
    await page.keyboard.press('Enter')
    await answered(page)

    const { messages } = JSON.parse(upstream.received.at(-1)?.body.toString() ?? '') as {
      messages: Array<{ content: SentPart[] }>
    }
    const [text, image] = messages[0]?.content ?? []
    expect(text).toEqual({ type: 'text', text: 'Which colour?' })
    expect(image).toMatchObject({ type: 'image_url' })
    const size = await page.evaluate<number[]>(`(async () => {
      const shown = new Image()
      shown.src = ${JSON.stringify(image?.image_url?.url)}
      await shown.decode()
      return [shown.naturalWidth, shown.naturalHeight]
    })()`)
    expect(size).toEqual([1_024, 512])

    await page.reload()
    await page.getByTestId('message-user').getByAltText('grey.png').waitFor()
    await picture(page, 'attached-kept')
    await page.getByTestId('model-picker').selectOption('blind')
    await page.getByTestId('attach').waitFor({ state: 'hidden' })
    await page.getByTestId('composer').fill('And now?')
    await page.keyboard.press('Enter')
    await page.getByTestId('message-assistant').nth(1).waitFor()
    await answered(page)
    expect(upstream.received.at(-1)?.body.toString()).not.toContain('image_url')
  })

  it('says what cannot be attached, and why', async () => {
    const { page } = await openChat(browser, { models: [modelWith('seeing', ['TextGeneration', 'Vision'])] })
    await page.getByTestId('attach').waitFor()
    const problem = (text: string) => page.getByTestId('composer-problem').filter({ hasText: text }).waitFor()
    await attach(page, 'a.txt', 'text/plain', Buffer.from('text'))
    await problem('a.txt is not a picture')
    await attach(page, 'broken.png', 'image/png', Buffer.from('no png'))
    await problem('broken.png cannot be read')
    const five = Array.from({ length: 5 }, (_, index) => ({
      name: `${index}.png`,
      mimeType: 'image/png',
      buffer: png(2, 2),
    }))
    await page.getByTestId('attach-input').setInputFiles(five)
    await problem('At most 4 pictures')
    expect(await page.getByTestId('attachments').locator('img').count()).toBe(4)
    await page.getByRole('button', { name: 'Remove 0.png' }).click()
    expect(await page.getByTestId('attachments').locator('img').count()).toBe(3)
  })

  it('writes down what is said, where a model transcribes', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":" Open the gate. "}')
    })
    const models = [modelWith('chatting', ['TextGeneration']), modelWith('listening', ['SpeechToText'])]
    const { url, addPod } = await startGateway({ models, gateway: { chatPageDirectory: pageDirectory } })
    addPod('one', upstream.port, 'listening')
    const page = await browser.newPage()
    await page.goto(`${url}/`)
    const button = page.getByTestId('dictate')
    await button.click()
    await page.getByTestId('composer-problem').filter({ hasText: 'Listening' }).waitFor()
    await picture(page, 'listening')
    await button.click()
    await expect.poll(() => page.getByTestId('composer').inputValue()).toBe('Open the gate.')
    const { url: path, headers, body } = upstream.received[0] ?? { url: '', headers: {}, body: Buffer.alloc(0) }
    expect([path, headers['content-type']]).toEqual([
      '/v1/audio/transcriptions',
      expect.stringMatching(/^multipart\/form-data/),
    ])
    const form = body.toString('latin1')
    expect(form).toMatch(/name="model"\r\n\r\nlistening/)
    expect(form).toMatch(/filename="speech\.wav"[^]*RIFF[^]{4}WAVEfmt/)
    await page.close()
  })

  it('offers neither where no model can', async () => {
    const { page } = await openChat(browser)
    await page.getByTestId('welcome').filter({ hasText: 'Ask tiny' }).waitFor()
    expect(await page.getByTestId('attach').isVisible()).toBe(false)
    expect(await page.getByTestId('dictate').isVisible()).toBe(false)
  })
})
