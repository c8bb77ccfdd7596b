import { type Browser, type Page, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Model } from '../../src/resources/model.ts'
import { fakeModel } from '../../src/traffic/cluster-view.fixture.ts'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'
import { answered, ask, openChat, picture } from './chat-page.fixture.ts'

function hopelessModel(name: string): Model {
  const model = fakeModel(name, 'Asleep', 'Asleep, and cannot wake: There are no files at pvc://userdata/x.')
  const conditions = [{ type: 'Ready', status: 'False' as const, reason: 'FilesMissing' }]
  return { ...model, status: { ...model.status, conditions } }
}

describe.skipIf(chromiumPath === undefined)('the chat page', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(() => browser?.close())

  const questions = (page: Page) => page.getByTestId('message-user').locator('.bubble').allTextContents()
  const answers = (page: Page) => page.getByTestId('message-assistant').locator('.prose').allTextContents()

  it('shows the phase of every model that chats, and begins with one that works', async () => {
    const embedding = fakeModel('embedding', 'Ready')
    const models = [
      fakeModel('broken', 'Failed', 'The engine ended 4 times; last: exit code 1.'),
      { ...embedding, spec: { ...embedding.spec, features: ['TextEmbedding' as const] } },
      hopelessModel('hopeless'),
      fakeModel('sleeping', 'Asleep'),
      fakeModel('waking', 'Waking'),
    ]
    const { page } = await openChat(browser, { models })
    await page.locator('#model-picker option[value=waking]').waitFor({ state: 'attached' })
    expect(await page.getByTestId('model-picker').inputValue()).toBe('waking')
    const states = await page
      .locator('#model-picker option')
      .evaluateAll((options) => options.map((option) => `${option.textContent}: ${option.dataset['state'] ?? ''}`))
    expect(states).toEqual(['broken: failed', 'hopeless: failed', 'sleeping: asleep', 'waking: waking'])

    await page.getByTestId('model-picker').selectOption('hopeless')
    await page.getByTestId('welcome').filter({ hasText: 'There are no files at pvc://userdata/x' }).waitFor()
    await picture(page, 'picker-broken')
    await page.reload()
    await page.getByTestId('welcome').filter({ hasText: 'Ask waking' }).waitFor()
  })

  it('lets a question be edited and sent again, keeps what was there, and reopens it', async () => {
    const { page, upstream } = await openChat(browser, {
      answer: ({ messages }) => [`To: ${String(messages.at(-1)?.content)}`],
    })
    await ask(page, 'one')
    await ask(page, 'two')
    await page.getByTestId('message-user').first().hover()
    await page.getByTestId('edit').first().click()
    await page.getByTestId('edit-text').fill('three')
    await picture(page, 'edit')
    await page.keyboard.press('Enter')
    await page.getByTestId('message-assistant').filter({ hasText: 'To: three' }).waitFor()
    await answered(page)
    expect(await questions(page)).toEqual(['three'])
    expect(JSON.parse(upstream.received.at(-1)?.body.toString() ?? '')).toMatchObject({
      messages: [{ role: 'user', content: 'three' }],
    })
    expect(await page.getByTestId('branches').textContent()).toBe('2 / 2')
    await picture(page, 'branches')

    await page.getByTestId('branch-back').click()
    expect(await questions(page)).toEqual(['one', 'two'])
    expect(await answers(page)).toEqual(['To: one', 'To: two'])
    // The other way, with the keyboard: the focus has stayed with the versions.
    await page.keyboard.press('Enter')
    expect(await questions(page)).toEqual(['three'])
    await page.getByTestId('branch-back').click()

    await page.getByRole('button', { name: 'Ask again' }).click()
    await answered(page)
    await page.getByTestId('message-assistant').last().getByTestId('branches').filter({ hasText: '2 / 2' }).waitFor()

    await page.reload()
    await page.getByTestId('message-user').first().waitFor()
    expect(await questions(page)).toEqual(['one', 'two'])
    expect(await page.getByTestId('branches').allTextContents()).toEqual(['1 / 2', '2 / 2'])
  })

  it('leaves an edited message as it was when that is cancelled', async () => {
    const { page } = await openChat(browser)
    await ask(page, 'one')
    await page.getByTestId('edit').focus()
    await page.keyboard.press('Enter')
    await page.getByTestId('edit-text').fill('changed')
    await page.keyboard.press('Escape')
    expect(await questions(page)).toEqual(['one'])
    expect(await page.locator('[data-testid=edit]:focus').count()).toBe(1)
  })

  it('keeps a list of chats, opens each again, and deletes one when it is asked twice', async () => {
    const { page, context, gateway } = await openChat(browser)
    await ask(page, 'first chat')
    await page.getByTestId('new-chat').click()
    await page.getByTestId('welcome').waitFor()
    await ask(page, 'second chat')
    const list = page.getByTestId('conversations').locator('li')
    expect(await list.locator('.conversation-title').allTextContents()).toEqual(['second chat', 'first chat'])
    await list.getByText('first chat').click()
    expect(await questions(page)).toEqual(['first chat'])

    const another = await context.newPage()
    await another.goto(`${gateway.url}/`)
    await another.getByTestId('message-user').waitFor()
    expect(await questions(another)).toEqual(['first chat'])
    const remove = another.getByRole('button', { name: 'Delete “first chat”' })
    await remove.click()
    await another.getByTestId('conversations').getByText('Delete?').click()
    await another.getByTestId('welcome').waitFor()
    // The other tab forgets it, too.
    await page.getByTestId('welcome').waitFor()
    await another.reload()
    await another.getByTestId('welcome').waitFor()
    expect(await another.getByTestId('conversations').locator('.conversation-title').allTextContents()).toEqual([
      'second chat',
    ])
  })
})
