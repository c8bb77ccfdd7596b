import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import type { Answer, HeaderPairs } from '../../relay/exchange.ts'
import type { HeaderList } from '../../relay/http/header-list.ts'

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}

const securityHeaders: HeaderPairs = [
  [
    'content-security-policy',
    [
      "default-src 'none'",
      "style-src 'self'",
      "script-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "manifest-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  ],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
]

/** Matches `name-<hash>.ext`: the build names files so whose content never changes. */
const hashedName = /^\/assets\/.*-[\w-]{8,}\.\w+$/
const mostFiles = 1_000
const mostBytes = 64 * 1024 * 1024

interface PageFile {
  readonly body: Buffer
  readonly etag: string
  readonly headers: HeaderPairs
}

/** The chat page's files, read once at the start. Only these can be asked for, so no path can lead anywhere else. */
export class ChatPage {
  readonly #files: ReadonlyMap<string, PageFile>

  private constructor(files: ReadonlyMap<string, PageFile>) {
    this.#files = files
  }

  static async load(directory: string): Promise<ChatPage> {
    const files = new Map<string, PageFile>()
    let bytes = 0
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      const type = contentTypes[extname(entry.name)]
      if (!entry.isFile() || type === undefined) continue
      const file = join(entry.parentPath, entry.name)
      const body = await readFile(file)
      bytes += body.length
      if (files.size >= mostFiles || bytes > mostBytes) throw new Error(`${directory} is too large for a chat page`)
      const path = `/${relative(directory, file).split(sep).join('/')}`
      files.set(path, pageFile(path, body, type))
    }
    const index = files.get('/index.html')
    if (!index) throw new Error(`${directory} has no index.html`)
    files.set('/', index)
    return new ChatPage(files)
  }

  has(path: string): boolean {
    return this.#files.has(path)
  }

  answer(path: string, requestHeaders: HeaderList): Answer | undefined {
    const file = this.#files.get(path)
    if (!file) return undefined
    const { body, etag, headers } = file
    return matches(requestHeaders.get('if-none-match'), etag)
      ? { status: 304, headers }
      : { status: 200, headers, body }
  }
}

function pageFile(path: string, body: Buffer, type: string): PageFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const caching = hashedName.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache'
  return {
    body,
    etag,
    headers: [['content-type', type], ['cache-control', caching], ['etag', etag], ...securityHeaders],
  }
}

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
}
