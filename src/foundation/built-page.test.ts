import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BuiltPage } from './built-page.ts'

async function pageDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'built-page-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await mkdir(join(directory, 'assets'))
  await writeFile(join(directory, 'index.html'), '<!doctype html>')
  await writeFile(join(directory, 'assets/main-B1x_9-aQ.js'), 'void 0')
  await writeFile(join(directory, 'secret.key'), 'not a page')
  await symlink('/etc/hostname', join(directory, 'link.txt'))
  return directory
}

const rules = { policy: ["font-src 'self'"] }

describe('BuiltPage', () => {
  it('serves the page with its rules, to be checked each time', async () => {
    const page = BuiltPage.load(await pageDirectory(), rules)
    const answer = page.answer('/', undefined)
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('<!doctype html>') })
    const headers = new Map(answer?.headers)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toMatch(/script-src 'self'.*font-src 'self'/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const etag = headers.get('etag') ?? ''
    expect(page.answer('/', `"x", W/${etag}`)).toEqual({
      status: 304,
      headers: answer?.headers,
    })
  })

  it('lets hashed files be kept for good', async () => {
    const page = BuiltPage.load(await pageDirectory(), rules)
    const headers = new Map(page.answer('/assets/main-B1x_9-aQ.js', undefined)?.headers)
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  })

  it.each([
    '/../secret.key',
    '/secret.key',
    '/link.txt',
    '/assets',
    '/assets/',
    '/ASSETS/main-B1x_9-aQ.js',
    '/%69ndex.html',
  ])('knows no %s', async (path) => {
    const page = BuiltPage.load(await pageDirectory(), rules)
    expect(page.answer(path, undefined)).toBeUndefined()
  })

  it('does not start without a page', async () => {
    const directory = await pageDirectory()
    await rm(join(directory, 'index.html'))
    expect(() => BuiltPage.load(directory, rules)).toThrow('index.html')
  })
})
