import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dockerArchive } from './archives/image-archive.fixture.ts'
import { ImageLibrary } from './image-library.ts'
import { ImportedImages } from './imported-images.ts'
import { file, writeTar } from './tar/tar-writer.fixture.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-killed-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const { signal } = new AbortController()
const sync = async () => {}

const archive = join(scratch, 'archive.tar')
const layers = [writeTar([file('a', '1')]), writeTar([file('b', '2')])]
writeFileSync(
  archive,
  dockerArchive([
    { layers, names: ['one:1'] },
    { layers: layers.slice(0, 1), names: ['two:1'] },
  ]),
)

/** Runs something with the library in a process that kills itself before the step of that number. */
function killedBefore(step: number, folder: string, what: string): { readonly killed: boolean; readonly said: string } {
  const program = `
    import { ImageLibrary } from ${JSON.stringify(join(import.meta.dirname, 'image-library.ts'))}
    let left = ${step}
    const onStep = () => { if (left-- === 0) process.kill(process.pid, 'SIGKILL') }
    const library = new ImageLibrary({ folder: ${JSON.stringify(folder)}, onStep, sync: async () => {} })
    const signal = new AbortController().signal
    ${what}`
  const { signal, stderr, status } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    timeout: 15_000,
  })
  if (signal === null && status !== 0) throw new Error(stderr)
  return { killed: signal === 'SIGKILL', said: stderr }
}

describe('a process that is killed', () => {
  it(
    'in the middle of an import leaves all of its images or none, and nothing that stays',
    { timeout: 120_000 },
    async () => {
      let steps = 0
      for (let killed = true; killed; steps += 1) {
        const folder = join(scratch, `import-${steps}`)
        killed = killedBefore(
          steps,
          folder,
          `await library.import({ path: ${JSON.stringify(archive)}, signal })`,
        ).killed
        const library = new ImageLibrary({ folder, sync })
        const images = new ImportedImages(folder)
        const names = library.list().map(({ name }) => name)
        expect([[], ['docker.io/library/one:1', 'docker.io/library/two:1']]).toContainEqual(names)
        for (const name of names) expect(readFileSync(join(images.find(name)?.root ?? '', 'a'), 'utf8')).toBe('1')
        await library.collect(signal)
        expect([steps, readdirSync(join(folder, 'staging'))]).toEqual([steps, []])
        expect(readdirSync(join(folder, 'roots'))).toHaveLength(names.length)
        await library.import({ path: archive, signal })
        expect(readFileSync(join(images.find('one:1')?.root ?? '', 'b'), 'utf8')).toBe('2')
      }
      // staging, twice two and one layers, sync, commit, two placed, named
      expect(steps - 1).toBe(12)
    },
  )

  it('in the middle of a removal has removed the name, and the files go with the next command', async () => {
    const folder = join(scratch, 'remove')
    const library = new ImageLibrary({ folder, sync })
    await library.import({ path: archive, signal })
    expect(killedBefore(0, folder, `await library.remove('one:1', signal)`).killed).toBe(true)
    expect(library.list().map(({ name }) => name)).toEqual(['docker.io/library/two:1'])
    expect(readdirSync(join(folder, 'roots'))).toHaveLength(2)
    await library.collect(signal)
    expect(readdirSync(join(folder, 'roots'))).toHaveLength(1)
  })

  it('does not lose what others import at the same time', async () => {
    const folder = join(scratch, 'together')
    const names = Array.from({ length: 8 }, (_, index) => `n${index}:1`)
    const one = join(scratch, 'one.tar')
    writeFileSync(one, dockerArchive([{ layers, names: ['x:1'] }]))
    await Promise.all(names.map((name) => new ImageLibrary({ folder, sync }).import({ path: one, name, signal })))
    expect(new ImageLibrary({ folder }).list()).toHaveLength(8)
    expect([readdirSync(join(folder, 'roots')).length, readdirSync(join(folder, 'staging'))]).toEqual([1, []])
  })
})
