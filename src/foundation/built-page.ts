import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

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

/** What every page keeps to; a page adds its own directives. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/** Matches `name-<hash>.ext`: the build names files so whose content never changes. */
const hashedName = /^\/assets\/.*-[\w-]{8,}\.\w+$/
const mostFiles = 1_000
const mostBytes = 64 * 1024 * 1024

export interface PageRules {
  readonly policy: readonly string[]
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

export interface PageAnswer {
  readonly status: 200 | 304
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Buffer
}

interface PageFile {
  readonly body: Buffer
  readonly etag: string
  readonly headers: PageAnswer['headers']
}

/** A built page's files, read once at the start. Only these can be asked for, so no path can lead anywhere else. */
export class BuiltPage {
  readonly #files: ReadonlyMap<string, PageFile>

  /** Throws if the page was not built. */
  static load(directory: string, rules: PageRules): BuiltPage {
    return new BuiltPage(readFiles(directory, ruleHeaders(rules)))
  }

  private constructor(files: ReadonlyMap<string, PageFile>) {
    this.#files = files
  }

  has(path: string): boolean {
    return this.#files.has(path)
  }

  answer(path: string, ifNoneMatch: string | undefined): PageAnswer | undefined {
    const file = this.#files.get(path)
    if (!file) return undefined
    const { body, etag, headers } = file
    return matches(ifNoneMatch, etag) ? { status: 304, headers } : { status: 200, headers, body }
  }
}

function ruleHeaders({ policy, headers = [] }: PageRules): PageAnswer['headers'] {
  return [
    ['content-security-policy', [...contentSecurityPolicy, ...policy].join('; ')],
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ...headers,
  ]
}

function readFiles(directory: string, rules: PageAnswer['headers']): Map<string, PageFile> {
  const files = new Map<string, PageFile>()
  let bytes = 0
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const type = contentTypes[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const file = join(entry.parentPath, entry.name)
    const body = readFileSync(file)
    bytes += body.length
    if (files.size >= mostFiles || bytes > mostBytes) throw new Error(`${directory} is too large for a page`)
    const path = `/${relative(directory, file).split(sep).join('/')}`
    files.set(path, pageFile(path, body, type, rules))
  }
  const index = files.get('/index.html')
  if (!index) throw new Error(`${directory} has no index.html`)
  return files.set('/', index)
}

function pageFile(path: string, body: Buffer, type: string, rules: PageAnswer['headers']): PageFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const caching = hashedName.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache'
  return { body, etag, headers: [['content-type', type], ['cache-control', caching], ['etag', etag], ...rules] }
}

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
}
