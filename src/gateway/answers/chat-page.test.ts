import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HeaderList } from '../../relay/http/header-list.ts'
import { ChatPage } from './chat-page.ts'

async function pageDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'chat-page-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await mkdir(join(directory, 'assets'))
  await writeFile(join(directory, 'index.html'), '<!doctype html>')
  await writeFile(join(directory, 'assets/main-B1x_9-aQ.js'), 'void 0')
  await writeFile(join(directory, 'secret.key'), 'not a page')
  await symlink('/etc/hostname', join(directory, 'link.txt'))
  return directory
}

const none = new HeaderList([])

describe('ChatPage', () => {
  it('serves the page with its rules, to be checked each time', async () => {
    const page = await ChatPage.load(await pageDirectory())
    const answer = page.answer('/', none)
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('<!doctype html>') })
    const headers = new Map(answer?.headers)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const etag = headers.get('etag') ?? ''
    expect(page.answer('/', HeaderList.of([['If-None-Match', `"x", W/${etag}`]]))).toEqual({
      status: 304,
      headers: answer?.headers,
    })
  })

  it('lets hashed files be kept for good', async () => {
    const page = await ChatPage.load(await pageDirectory())
    const headers = new Map(page.answer('/assets/main-B1x_9-aQ.js', none)?.headers)
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
    const page = await ChatPage.load(await pageDirectory())
    expect(page.answer(path, none)).toBeUndefined()
  })

  it('does not start without a page', async () => {
    const directory = await pageDirectory()
    await rm(join(directory, 'index.html'))
    await expect(ChatPage.load(directory)).rejects.toThrow('index.html')
  })
})
