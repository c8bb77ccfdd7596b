import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumFlags, chromiumPath } from '../support/programs.ts'
import { answered, ask, openChat, picture } from './chat-page.fixture.ts'

const rich = [
  '# What a sluice does\n\nIt lets water through: **when** somebody asks, R&amp;D says &copy; 2026 &ndash; no sooner.',
  '| Model | Cards | Price |\n|:------|:-----:|------:|\n| tiny | 1 | $0.10 |\n| large | 16 | $12.00 |',
  '- [x] wake\n- [ ] sleep\n- an ordinary item',
  '```ts\nexport const depth = (level: number): string => `${level} m` // water\n```',
  'The energy is $E = mc^2$, and the sum',
  '$$\n\\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6}\n$$',
  'It costs $5 or $10.',
].join('\n\n')

const hostile = [
  '<script>document.title = "ran"</script>',
  '<img src=x onerror="document.title = `ran`">',
  '[a](javascript:document.title="ran") [b](&#106;avascript:alert(1)) [c](data:text/html,<script>1</script>)',
  '```html\n<script>document.title = "ran"</script><svg onload=alert(1)>\n```',
  '```__proto__\nx\n```',
  '$\\href{javascript:alert(1)}{x}$ $\\class{x}{y}$ $\\includegraphics{https://e.org/x.png}$ $\\htmlData{a=b}{c}$',
  '| <iframe src=//e.org> | b |\n|---|---|\n| <object> | &lt;script&gt; |',
  '- [x] <svg><script>alert(1)</script></svg>',
  '&lt;script&gt;document.title="ran"&lt;/script&gt;',
  '<style>body { display: none }</style>',
].join('\n\n')

/** Everything that an answer may consist of, MathML aside. */
const harmless =
  'a article blockquote br button code details div em figcaption figure footer h3 h4 h5 hr input li ol p pre progress s ' +
  'span strong summary svg table tbody td th thead tr ul use'

/** What the test asks an element of the page. */
interface PageNode {
  readonly namespaceURI: string
  readonly localName: string
  getAttributeNames(): string[]
  getAttribute(name: string): string | null
}

/** Runs in the page: counts changes to blocks that are not among the last, which has been drawn before. */
const countFarChanges = `
  globalThis.seen = { blocks: 0, far: 0 }
  new MutationObserver((records) => {
    const prose = document.querySelector('.prose')
    const blocks = [...(prose?.children ?? [])]
    // Code is highlighted when it is complete, wherever it is by then.
    const touched = records
      .flatMap(({ target, addedNodes }) => (target === prose ? [...addedNodes] : [target]))
      .map((node) => blocks.findIndex((block) => block.localName !== 'figure' && block.contains(node)))
    seen.far += touched.filter((index) => index !== -1 && index < seen.blocks - 3).length
    seen.blocks = blocks.length
  }).observe(document.body, { childList: true, characterData: true, subtree: true })
`

describe.skipIf(chromiumPath === undefined)('answers on the chat page', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
  })
  afterAll(() => browser?.close())

  it('have tables with aligned columns, tasks, entities, highlighted code and formulas', async () => {
    const { page } = await openChat(browser, { answer: () => rich.match(/[^]{1,7}/g) ?? [] })
    await ask(page, 'Show me everything.')
    const answer = page.getByTestId('message-assistant')
    expect(await answer.locator('p').first().textContent()).toContain('R&D says © 2026 – no sooner')
    const aligned = await page.evaluate<string[]>(
      `[...document.querySelectorAll('td')].map((cell) => getComputedStyle(cell).textAlign)`,
    )
    expect(aligned.slice(0, 3)).toEqual(['left', 'center', 'right'])
    const boxes = answer.getByRole('checkbox')
    expect(await boxes.evaluateAll((all) => all.map((box) => String(box.checked)))).toEqual(['true', 'false'])
    await answer.locator('.code-keyword').filter({ hasText: 'export' }).waitFor()
    expect(await answer.locator('pre').textContent()).toBe(
      'export const depth = (level: number): string => `${level} m` // water',
    )
    await answer.locator('math').nth(1).waitFor()
    expect(await answer.locator('math mfrac').count()).toBe(2)
    // A comma behind a formula would begin a line where there is no room for it.
    const withComma = answer.locator('.unbroken')
    expect(await withComma.innerText()).toMatch(/,$/)
    expect(await withComma.locator('math').count()).toBe(1)
    expect(await answer.getByText('It costs $5 or $10.').count()).toBe(1)
    await picture(page, 'answer')
  })

  it('are never live: what a model writes becomes text and harmless nodes, whatever it is', async () => {
    const { page } = await openChat(browser, { answer: () => hostile.match(/[^]{1,3}/g) ?? [] })
    const title = await page.title()
    await ask(page, 'Be hostile.')
    await page.locator('.code-name').first().waitFor()
    const allowed = harmless.split(' ')
    const found = await page.getByTestId('message-assistant').evaluate((answer, names) => {
      const nodes = [...answer.querySelectorAll('*')] as PageNode[]
      const isMath = (node: PageNode) => node.namespaceURI === 'http://www.w3.org/1998/Math/MathML'
      return {
        strange: nodes.filter((node) => !isMath(node) && !names.includes(node.localName)).map((node) => node.localName),
        acting: nodes.flatMap((node) =>
          node
            .getAttributeNames()
            .filter((name) => name.startsWith('on') || name === 'src' || name === 'srcdoc' || name === 'style'),
        ),
        links: nodes.flatMap((node) => (node.localName === 'use' ? [] : (node.getAttribute('href') ?? []))),
      }
    }, allowed)
    expect(found).toEqual({ strange: [], acting: [], links: [] })
    expect(await page.title()).not.toBe('ran')
    expect(title).toBe('Sluice')
    expect(await page.getByTestId('message-assistant').textContent()).toContain(
      '<script>document.title = "ran"</script>',
    )
    await picture(page, 'hostile')
  })

  it('of 10,000 tokens are drawn at their end only, and the reader stays where they are', async () => {
    const paragraph = (index: number) => `Paragraph **${index}** says \`something\` about water and gates.\n\n`
    const item = (index: number) => `- item ${index} of the list\n`
    const line = (index: number) => `const line${index} = ${index}\n`
    const repeat = (count: number, write: (index: number) => string) =>
      Array.from({ length: count }, (_, i) => write(i))
    const text = [
      ...repeat(400, paragraph),
      ...repeat(300, item),
      '\n```js\n',
      ...repeat(300, line),
      '```\n\n',
      ...repeat(150, paragraph),
      'The end.',
    ].join('')
    const tokens = text.match(/[^]{1,4}/g) ?? []
    expect(tokens.length).toBeGreaterThan(10_000)
    const { page } = await openChat(browser, { answer: () => tokens })
    await page.evaluate(countFarChanges)
    await page.getByTestId('composer').fill('Tell me everything.')
    await page.keyboard.press('Enter')
    await page.locator('.prose > :nth-child(100)').waitFor({ timeout: 120_000 })
    await page.evaluate(`globalThis.early = [...document.querySelectorAll('.prose > *')].slice(0, 90)`)
    // Reads from the start while the rest comes.
    await page.locator('#scroller').hover()
    const place = () => page.evaluate(`document.querySelector('#scroller').scrollTop`)
    await expect.poll(() => page.mouse.wheel(0, -1_000_000).then(place), { timeout: 30_000 }).toBe(0)
    await answered(page)
    const seen = await page.evaluate(`({
      same: early.every((node, index) => document.querySelector('.prose').children[index] === node),
      top: document.querySelector('#scroller').scrollTop,
      far: seen.far,
    })`)
    expect(seen).toEqual({ same: true, top: 0, far: 0 })
    expect(await page.locator('.prose').textContent()).toMatch(/The end\.$/)
    await page.getByRole('button', { name: 'To the latest message' }).click()
    await picture(page, 'long-end')
  })

  it('draw the rows of a long table once, except the last one while it is written', async () => {
    const rows = Array.from({ length: 300 }, (_, row) => `| ${row} | **cell** of row ${row} |\n`)
    const seen = Promise.withResolvers<void>()
    const { page } = await openChat(browser, {
      async *answer() {
        yield* ['| row | what |\n|----:|------|\n', ...rows.slice(0, 100), '| half']
        await seen.promise
        yield* [' | of a row |\n', ...rows.slice(100)]
      },
    })
    await page.getByTestId('composer').fill('Show me a table.')
    await page.keyboard.press('Enter')
    await page.locator('tbody tr:nth-child(101)').filter({ hasText: 'half' }).waitFor()
    await page.evaluate(`globalThis.early = [...document.querySelectorAll('tbody tr')].slice(0, 100)`)
    seen.resolve()
    await answered(page)
    expect(await page.locator('tbody tr').allTextContents()).toHaveLength(301)
    expect(await page.locator('tbody tr').nth(100).textContent()).toBe('halfof a row')
    const isSame = `early.every((row, index) => document.querySelectorAll('tbody tr')[index] === row)`
    expect(await page.evaluate(isSame)).toBe(true)
  })
})
