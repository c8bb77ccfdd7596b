import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fakeModel } from '../../src/traffic/cluster-view.fixture.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'
import { ask, modelWith, openChat, picture, png, seriousFindings, settled } from './chat-page.fixture.ts'

const answer = [
  '## A heading\n\nText with `code`, [a link](https://example.org) and $x^2$.\n\n- [x] done\n- [ ] to do',
  '| a | b |\n|:--|--:|\n| 1 | 2 |',
  '```js\nconst a = "text" // why\nif (a !== null) run(1)\n```',
  '$$\n\\frac{a}{b}\n$$\n\n> A quote.',
].join('\n\n')

const looks = [
  { name: 'light-wide', colorScheme: 'light', width: 1100 },
  { name: 'dark-wide', colorScheme: 'dark', width: 1100 },
  { name: 'light-narrow', colorScheme: 'light', width: 400 },
  { name: 'dark-narrow', colorScheme: 'dark', width: 400 },
] as const

describe.skipIf(chromiumPath === undefined)('the chat page can be used by everybody', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(() => browser?.close())

  it.each(looks)('axe finds nothing serious in any state: $name', async ({ name, colorScheme, width }) => {
    const models = [
      modelWith('tiny', ['TextGeneration', 'Vision']),
      modelWith('listening', ['SpeechToText']),
      fakeModel('broken', 'Failed', 'no card is free'),
    ]
    let failing = false
    const { page } = await openChat(browser, {
      models,
      answer: () => (failing ? [] : answer.match(/[^]{1,20}/g)) ?? [],
      context: { colorScheme, reducedMotion: 'reduce', viewport: { width, height: 760 } },
    })
    const check = async (state: string) => {
      await settled(page)
      await picture(page, `${state}-${name}`)
      expect({ state, findings: await seriousFindings(page) }).toEqual({ state, findings: [] })
    }
    await page.getByTestId('welcome').filter({ hasText: 'Ask tiny' }).waitFor()
    await check('welcome')
    await ask(page, 'Show me.')
    await page.locator('.code-keyword').first().waitFor()
    await page.locator('math').nth(1).waitFor()
    await check('chat')
    await page.getByRole('button', { name: 'Ask again' }).click()
    await page.getByTestId('branches').waitFor()
    await page.locator('[data-status=done]').waitFor()
    await page.getByTestId('edit').focus()
    await page.keyboard.press('Enter')
    await check('editing')
    await page.keyboard.press('Escape')
    await page.getByTestId('settings').click()
    await check('settings')
    await page.keyboard.press('Escape')
    const files = [png(8, 8), Buffer.from('no picture')]
    await page
      .getByTestId('attach-input')
      .setInputFiles(files.map((buffer, index) => ({ name: `${index}.png`, mimeType: 'image/png', buffer })))
    await page.getByTestId('composer-problem').filter({ hasText: 'cannot be read' }).waitFor()
    await check('attached')
    failing = true
    await ask(page, 'And now nothing.')
    await check('empty')
    if (width < 700) {
      await page.getByRole('button', { name: 'Conversations' }).click()
      await check('drawer')
    }
  })
})
