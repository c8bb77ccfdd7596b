import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { elfFacts } from '../../scripts/artefacts/elf-needs.ts'
import { engineLayer, nodeLayer, programLayer, systemLayer } from '../../scripts/artefacts/image-layers.ts'
import { fetchedPlatform } from '../../scripts/artefacts/platform.ts'
import { artefactTime } from '../../scripts/artefacts/repository.ts'
import { tarArchive } from '../../scripts/artefacts/tar-archive.ts'
import { buildEngine } from '../../scripts/build-engine.ts'
import { version } from '../../src/platform/version.ts'
import { runProgram } from '../support/programs.ts'

const patienceMs = 120_000
/** Where `scripts/artefacts/fetch-platform.ts` has put the parts of an image for another kind of machine. */
const parts = process.env['SLUICE_OTHER_PLATFORM'] ?? ''
const emulators: Readonly<Record<string, string>> = { arm64: 'qemu-aarch64-static', amd64: 'qemu-x86_64-static' }
const emulator = existsSync(join(parts, 'node'))
  ? emulators[elfFacts(readFileSync(join(parts, 'node')))?.architecture ?? '']
  : undefined
const missing =
  emulator === undefined
    ? '$SLUICE_OTHER_PLATFORM names no fetched platform'
    : spawnSync(emulator, ['--version']).status !== 0 && `there is no ${emulator}`

describe.skipIf(missing !== false)(`the image for another kind of machine${missing ? ` (${missing})` : ''}`, () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-other-platform-'))

  beforeAll(async () => {
    await buildEngine()
    const platform = fetchedPlatform(parts)
    for (const layer of [systemLayer, nodeLayer, programLayer, engineLayer]) {
      const archive = join(root, 'layer.tar')
      writeFileSync(archive, tarArchive(layer(platform), artefactTime))
      execFileSync('tar', ['-xf', archive, '-C', root])
    }
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  /** A program of the image's Node; its libraries are those of the image, too. */
  async function run(...words: readonly string[]): Promise<string> {
    const node = join(root, 'usr/bin/node')
    const { code, stdout, stderr } = await runProgram(emulator ?? '', ['-L', root, node, ...words], '', patienceMs)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    return stdout
  }
  const sluice = (...words: readonly string[]) => run(join(root, 'opt/sluice/bin/sluice.mjs'), ...words)

  it('has a program that runs there', async () => {
    expect(await sluice('version')).toContain(version)
    expect(await sluice('gateway', '--help')).toContain('--demand-port')
  })

  it('has a llama.cpp that is loaded there', async () => {
    const builds = join(root, 'opt/sluice/node_modules/@node-llama-cpp')
    const addon = readdirSync(builds, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.node'))
    const path = join(builds, addon ?? '')
    // As node-llama-cpp does it; what computes is in libraries beside the addon.
    const script = `
      const llama = require(${JSON.stringify(path)})
      llama.loadBackends()
      llama.loadBackends(${JSON.stringify(dirname(path))})
      console.log(llama.systemInfo())`
    expect(await run('-e', script)).toMatch(/\w+ = 1/)
  })

  it('has what calls the machine’s functions there', async () => {
    const koffi = join(root, 'opt/sluice/node_modules/koffi')
    const script = `
      const getpid = require(${JSON.stringify(koffi)}).load(null).func('int getpid()')
      console.log(getpid() === process.pid)`
    expect(await run('-e', script)).toBe('true\n')
  })
})
