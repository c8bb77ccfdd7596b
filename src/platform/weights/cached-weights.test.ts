import { spawn } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { type CachedWeights, type CachedWeightsOptions, cachedWeights } from './cached-weights.ts'
import { linkWeights } from './link-weights.ts'
import { WeightsFolder } from './weights-folder.ts'
import { readManifest } from './weights-manifest.ts'

const killedProgram = fileURLToPath(new URL('./weights-killed.fixture.ts', import.meta.url))
const megabyte = 1_000_000
const contents = { 'model.bin': 'x'.repeat(megabyte), 'config.json': '{}', 'deep/er/tokens.txt': 'a b c', empty: '' }

describe('a cache of weights', () => {
  let root: string
  let held: CachedWeights[]

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-weights-'))
    held = []
    addModel('m')
  })
  afterEach(() => {
    for (const weights of held) weights.release()
    rmSync(root, { recursive: true })
  })

  function addModel(name: string, files: Record<string, string> = contents): void {
    for (const [file, text] of Object.entries(files)) {
      const path = join(root, 'claim/models', name, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }

  async function use(name: string, options: Partial<CachedWeightsOptions> = {}): Promise<CachedWeights> {
    const weights = await cachedWeights({
      source: { claimFolder: join(root, 'claim'), claimName: 'userdata', path: `models/${name}` },
      cacheFolder: join(root, 'cache'),
      size: 10 * megabyte,
      clock: systemClock,
      signal: AbortSignal.timeout(30_000),
      onProgress: () => {},
      ...options,
    })
    held.push(weights)
    return weights
  }

  const filesIn = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
    )
  const entries = () => readdirSync(join(root, 'cache/entries'))
  const leftovers = () => ['incoming', 'trash'].flatMap((name) => readdirSync(join(root, 'cache', name)))

  it('copies the files once, and finds them again', async () => {
    const steps: string[] = []
    const step = (name: string) => steps.push(name)
    const first = await use('m', { step })
    expect(first.uncached).toBeUndefined()
    expect(first.folder.startsWith(join(root, 'cache/entries'))).toBe(true)
    expect(filesIn(first.folder)).toEqual(contents)
    steps.length = 0
    const second = await use('m', { step })
    expect(second.folder).toBe(first.folder)
    expect(steps).toEqual(['held'])
    expect(leftovers()).toEqual([])
  })

  it('notices other files by their size or time, and leaves those in use as they are', async () => {
    const before = await use('m')
    appendFileSync(join(root, 'claim/models/m/config.json'), ' ')
    const larger = await use('m')
    utimesSync(join(root, 'claim/models/m/config.json'), new Date(), new Date(Date.UTC(2031, 0, 1)))
    const later = await use('m')
    expect(new Set([before.folder, larger.folder, later.folder]).size).toBe(3)
    expect(filesIn(before.folder)).toEqual(contents)
    expect(filesIn(later.folder)['config.json']).toBe('{} ')
  })

  it('copies again what was damaged', async () => {
    const weights = await use('m')
    weights.release()
    truncateSync(join(weights.folder, 'model.bin'), 5)
    expect(filesIn((await use('m')).folder)).toEqual(contents)
  })

  it('makes room by what was used least lately, and never by what is in use', async () => {
    const size = 3.5 * megabyte
    for (const name of ['a', 'b', 'c']) addModel(name)
    const names = new Map<string, string>()
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      const weights = await use(name, { size })
      names.set(weights.manifest.key, name)
      const usedAt = new Date(Date.UTC(2020, 0, 1 + index))
      utimesSync(join(weights.folder, '../entry.json'), usedAt, usedAt)
      if (name !== 'a') weights.release()
    }
    const last = await use('m', { size })
    expect(last.uncached).toBeUndefined()
    expect(
      entries()
        .map((key) => names.get(key) ?? 'm')
        .toSorted(),
    ).toEqual(['a', 'c', 'm'])
    expect(leftovers()).toEqual([])
    expect(readdirSync(join(root, 'cache/locks')).toSorted()).toEqual(entries().toSorted())
  })

  it('reads from the claim what does not fit, or finds no room', async () => {
    expect(await use('m', { size: 100 })).toMatchObject({
      folder: join(root, 'claim/models/m'),
      uncached: expect.stringContaining('more than the cache may hold'),
    })
    await use('m', { size: 1.5 * megabyte })
    addModel('other')
    expect(await use('other', { size: 1.5 * megabyte })).toMatchObject({
      folder: join(root, 'claim/models/other'),
      uncached: 'what others use leaves no room in the cache',
    })
    expect(entries()).toHaveLength(1)
  })

  it('reads from the claim where the cache cannot be written', async () => {
    writeFileSync(join(root, 'a-file'), '')
    expect(await use('m', { cacheFolder: join(root, 'a-file') })).toMatchObject({
      folder: join(root, 'claim/models/m'),
      uncached: expect.stringMatching(/EEXIST|ENOTDIR/),
    })
  })

  it('copies once for many that start together', async () => {
    let copies = 0
    const step = (name: string) => void (copies += name === 'published' ? 1 : 0)
    const all = await Promise.all(Array.from({ length: 6 }, () => use('m', { step })))
    expect(new Set(all.map(({ folder }) => folder)).size).toBe(1)
    expect(filesIn(all[0]?.folder ?? '')).toEqual(contents)
    expect(copies).toBe(1)
  })

  it('tells how far it is, also who waits for another’s copy', async () => {
    const folder = new WeightsFolder(join(root, 'cache'), megabyte)
    const { key } = readManifest({ claimFolder: join(root, 'claim'), claimName: 'userdata', path: 'models/m' })
    const alone = folder.tryAlone(key)
    const phases = new Set<string>()
    await use('m', {
      onProgress: ({ phase, copiedBytes, bytes }) => {
        expect(copiedBytes).toBeLessThanOrEqual(bytes)
        if (phase.startsWith('waiting')) alone?.release()
        phases.add(phase)
      },
    })
    expect([...phases]).toEqual(['waiting for another Pod that copies the same', 'copying'])
  })

  it('begins again when the files change under it, and does not go on for ever', async () => {
    let changes = 0
    const weights = await use('m', {
      step: (name) => {
        if (name === 'file on disk' && changes++ === 0) appendFileSync(join(root, 'claim/models/m/model.bin'), 'y')
      },
    })
    expect(filesIn(weights.folder)['model.bin']).toHaveLength(megabyte + 1)
    const restless = await use('m', {
      cacheFolder: join(root, 'other-cache'),
      step: (name) => {
        if (name === 'file on disk') appendFileSync(join(root, 'claim/models/m/model.bin'), 'y')
      },
    })
    expect(restless.uncached).toContain('change while they are being copied')
  })

  it('takes all parts of a model that is named by its first, and links what is asked for', async () => {
    const parts = { 'q-00001-of-00002.gguf': 'one', 'q-00002-of-00002.gguf': 'two', 'other.gguf': 'no' }
    addModel('parts', parts)
    const path = 'models/parts/q-00001-of-00002.gguf'
    const weights = await use('parts/q-00001-of-00002.gguf')
    for (let times = 0; times < 2; times++) linkWeights(weights, join(root, 'link'), path)
    expect(readFileSync(join(root, 'link', path), 'utf8')).toBe('one')
    expect(readdirSync(join(root, 'link/models/parts'))).toEqual(Object.keys(parts).slice(0, 2))
    linkWeights(await use('m'), join(root, 'link'), 'models/m')
    expect(readFileSync(join(root, 'link/models/m/deep/er/tokens.txt'), 'utf8')).toBe('a b c')
  })

  it('follows links in the claim, and leaves out those that leave it', async () => {
    mkdirSync(join(root, 'claim/blobs'))
    writeFileSync(join(root, 'claim/blobs/1'), 'blob')
    symlinkSync('../../blobs/1', join(root, 'claim/models/m/linked'))
    expect(filesIn((await use('m')).folder)['linked']).toBe('blob')
    writeFileSync(join(root, 'secret'), 's')
    symlinkSync(join(root, 'secret'), join(root, 'claim/models/m/leaves'))
    symlinkSync('nowhere', join(root, 'claim/models/m/dangling'))
    symlinkSync('itself', join(root, 'claim/models/m/itself'))
    expect(Object.keys(filesIn((await use('m')).folder)).toSorted()).toEqual(
      [...Object.keys(contents), 'linked'].toSorted(),
    )
    await expect(use('m/leaves')).rejects.toThrow('there is nothing at models/m/leaves in the claim userdata')
  })

  it('goes on with a copy that was stopped', async () => {
    const stopping = new AbortController()
    const stopped = use('m', {
      signal: stopping.signal,
      step: (name) => (name === 'file dated' ? stopping.abort() : undefined),
    })
    await expect(stopped).rejects.toThrow('aborted')
    const steps: string[] = []
    expect(filesIn((await use('m', { step: (name) => steps.push(name) })).folder)).toEqual(contents)
    expect(steps.filter((name) => name === 'file opened').length).toBeLessThan(Object.keys(contents).length)
  })

  it('is whole after a kill at every step, and holds no more than it may', { timeout: 180_000 }, async () => {
    const size = 2.5 * megabyte
    const small = { 'model.bin': 'x'.repeat(megabyte), 'deep/tokens.txt': 'a b c' }
    rmSync(join(root, 'claim/models/m'), { recursive: true })
    addModel('m', small)
    // Something has to go for the model, so that its going is interrupted, too.
    addModel('old', { 'model.bin': 'o'.repeat(2 * megabyte) })

    const killedAt = async (kill: number): Promise<string> => {
      const cacheFolder = join(root, `cache-${kill}`)
      const old = await use('old', { size, cacheFolder })
      old.release()
      const said = await run([join(root, 'claim'), cacheFolder, join(root, `link-${kill}`), String(kill), String(size)])
      const at = said.trim().split('\n').at(-1) ?? ''
      const weights = await use('m', { size, cacheFolder })
      const left = ['incoming', 'trash'].flatMap((name) => readdirSync(join(cacheFolder, name)))
      const found = {
        at,
        uncached: weights.uncached,
        files: filesIn(weights.folder),
        left,
        old: existsSync(old.folder),
      }
      expect(found).toEqual({ at, uncached: undefined, files: small, left: [], old: false })
      return at.replace(/^\d+ /, '')
    }
    const names: string[] = []
    for (let kill = 1; !names.some((name) => name.startsWith('ready')); kill += 3) {
      names.push(...(await Promise.all([kill, kill + 1, kill + 2].map(killedAt))))
    }
    const steps = ['locked', 'evicting', 'in the trash', 'evicted', 'reserved', 'file opened', 'piece written']
    const later = ['file written', 'file on disk', 'file dated', 'copied', 'described', 'renamed', 'published']
    expect(names).toEqual(expect.arrayContaining([...steps, ...later, 'held', 'linked']))
  })
})

/** Runs the program until it is killed or ready; then it is killed, too. */
function run(words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--no-warnings', killedProgram, ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (/\d ready$/m.test(said)) child.kill('SIGKILL')
    })
    child.once('error', reject).once('exit', () => resolve(said))
  })
}
