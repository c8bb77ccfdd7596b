import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { modelKind } from '../../src/resources/model.ts'
import { ModelStage } from '../support/model-stage.ts'
import { chromiumPath } from '../support/programs.ts'
import { seriousFindings, settled } from './chat-page.fixture.ts'
import { ConsoleVisit, openBrowser } from './console.fixture.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=4'])

/** Both colour schemes, and both layouts: one does not depend on the other. */
const looks = [
  { name: 'light-wide', colorScheme: 'light', width: 1200 },
  { name: 'dark-narrow', colorScheme: 'dark', width: 400 },
] as const

describe.skipIf(chromiumPath === undefined)('the console can be used by everybody', () => {
  let browser: Browser

  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('awake')
    await stage.create('broken', { url: 'pvc://userdata/models/none' })
    await stage.create('asleep', { minReplicas: 0, maxReplicas: 2 })
    await stage.untilModel('awake', ({ status }) => status?.phase === 'Ready')
    await stage.untilModel('broken', ({ status }) => status?.phase === 'Failed')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await stage.destroy()
  })

  const open = async (options: Parameters<typeof ConsoleVisit.open>[2] = {}) => {
    const visit = await ConsoleVisit.open(browser, stage, { reducedMotion: 'reduce', ...options })
    onTestFinished(() => visit.close())
    return visit
  }

  it.each(looks)('axe finds nothing serious in any view: $name', async ({ name, colorScheme, width }) => {
    const visit = await open({ colorScheme, viewport: { width, height: 900 } })
    const { page } = visit
    const check = async (view: string) => {
      await settled(page)
      await visit.picture(`${view}-${name}`)
      const isWider = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
      expect({ view, isWider, findings: await seriousFindings(page) }).toEqual({ view, isWider: false, findings: [] })
    }
    const ask = async (button: string, view: string) => {
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('dialog').waitFor()
      await check(view)
      await page.keyboard.press('Escape')
    }
    await visit.logIn({ ...visit.pair, secretKey: 'wrong' })
    await page.getByRole('alert').filter({ hasText: 'do not open' }).waitFor()
    await check('refused')
    await visit.logIn()
    await visit.state('awake', 'Ready')
    await visit.state('broken', 'Failed')
    await check('overview')
    await ask('Wake asleep', 'wake')
    await ask('Scale asleep', 'scale')
    await page.getByRole('button', { name: 'Add a model' }).click()
    for (const source of ['Internet', 'This computer', 'Server']) {
      await page.getByText(source, { exact: true }).click()
      await check(`add-${source.split(' ').at(-1)?.toLowerCase()}`)
    }
    await page.keyboard.press('Escape')
    await visit.show('#/pods')
    await page.getByRole('row').filter({ hasText: 'awake' }).first().waitFor()
    await check('pods')
    await page.getByRole('link', { name: /^model-awake-/ }).click()
    await page.getByTestId('log').filter({ hasText: /\w/ }).waitFor()
    await check('pod')
    await visit.show('#/exposures')
    await page.getByRole('link', { name: /^https:/ }).waitFor()
    await check('exposures')
    await visit.show('#/clusters')
    await page.getByText('This machine').waitFor()
    await check('clusters')
    await visit.show('#/keys')
    await page.getByText('in use here').waitFor()
    await check('keys')
    await ask('Make a key', 'make-key')
    await visit.show('#/audit')
    await page.getByRole('cell').filter({ hasText: 'create models' }).first().waitFor()
    await check('audit')
    await visit.show('#/models/awake')
    const yaml = page.getByRole('textbox', { name: 'YAML' })
    await expect.poll(() => yaml.inputValue()).toContain('kind: Model')
    await yaml.fill('no model')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.locator('.editor-note.is-failure').waitFor()
    await check('model')
  })

  it('by the keyboard alone, from the login to a model that sleeps, and the focus is never lost', async () => {
    const visit = await open()
    const { page } = visit
    const { keyboard } = page
    await page.getByLabel('Access key').waitFor()
    await keyboard.type(visit.pair.accessKey)
    await keyboard.press('Tab')
    await keyboard.type(visit.pair.secretKey)
    await keyboard.press('Enter')
    await visit.state('awake', 'Ready')
    await tabTo(page, 'Scale asleep')
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await keyboard.press('Escape')
    expect(await focused(page)).toBe('Scale asleep')
    // What is focused is drawn anew whenever its model changes.
    await tabBackTo(page, 'asleep')
    await stage.client.scale(modelKind, { namespace: 'sluice', name: 'asleep' }, 1)
    await visit.state('asleep', 'Ready')
    expect(await focused(page)).toBe('asleep')
    await tabTo(page, 'Put to sleep: asleep')
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await tabTo(page, 'Put to sleep')
    await keyboard.press('Enter')
    await visit.state('asleep', 'Asleep')
    await tabBackTo(page, 'Keys')
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'Make a key' }).waitFor()
    expect(await page.title()).toBe('Keys · Sluice console')
    // From the page that was opened, not from the links above it.
    await keyboard.press('Tab')
    expect(await focused(page)).toBe('Make a key')
  })
})

function focused(page: Page): Promise<string> {
  return page.evaluate(
    "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''",
  )
}

async function press(page: Page, key: string, name: string): Promise<void> {
  for (let pressed = 0; pressed < 100; pressed += 1) {
    await page.keyboard.press(key)
    if ((await focused(page)) === name) return
  }
  throw new Error(`"${name}" cannot be reached by ${key}`)
}

const tabTo = (page: Page, name: string) => press(page, 'Tab', name)
const tabBackTo = (page: Page, name: string) => press(page, 'Shift+Tab', name)
