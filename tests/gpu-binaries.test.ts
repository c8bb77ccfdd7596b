import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const scripts = fileURLToPath(new URL('../scripts', import.meta.url))

/** A stand-in for `npm pack` without a network: it makes an archive with the requested name and version. */
const fakeNpm = `#!/bin/sh
[ "$1" = pack ] || exit 1
folder=$(mktemp -d) && mkdir "$folder/package" && echo "$2" >"$folder/package/name"
tar -czf "$4/node-llama-cpp-$(echo "$2" | sed 's,.*/,,; s,@,-,').tgz" -C "$folder" package && rm -r "$folder"
`

describe.skipIf(process.arch !== 'x64')('npm run gpu-binaries', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-gpu-'))
    cpSync(scripts, join(root, 'scripts'), { recursive: true })
    mkdirSync(join(root, 'bin'))
    writeFileSync(join(root, 'bin/npm'), fakeNpm, { mode: 0o755 })
    install('1.2.3')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  /** Makes what `npm ci` leaves, and runs its postinstall. */
  function install(version: string): string {
    rmSync(join(root, 'node_modules'), { recursive: true, force: true })
    mkdirSync(join(root, 'node_modules/node-llama-cpp'), { recursive: true })
    writeFileSync(join(root, 'node_modules/node-llama-cpp/package.json'), JSON.stringify({ version }))
    mkdirSync(join(root, 'node_modules/@node-llama-cpp/linux-x64-cuda'), { recursive: true })
    return runScript('trim-install.mjs').stdout
  }

  function runScript(script: string, ...args: string[]) {
    const env = { ...process.env, PATH: `${join(root, 'bin')}${delimiter}${process.env['PATH'] ?? ''}` }
    return spawnSync(process.execPath, [join(root, 'scripts', script), ...args], { encoding: 'utf8', env })
  }

  const built = (name: string) => join(root, 'node_modules/@node-llama-cpp', name, 'name')
  const read = (name: string) => readFileSync(built(name), 'utf8').trim()

  it('brings the builds of the pinned version, which the next install keeps', () => {
    expect(runScript('gpu-binaries.mjs', 'cuda')).toMatchObject({ status: 0, stderr: '' })
    expect(read('linux-x64-cuda')).toBe('@node-llama-cpp/linux-x64-cuda@1.2.3')
    expect(read('linux-x64-cuda-ext')).toBe('@node-llama-cpp/linux-x64-cuda-ext@1.2.3')
    install('1.2.3')
    expect(read('linux-x64-cuda')).toBe('@node-llama-cpp/linux-x64-cuda@1.2.3')
  })

  it('says so when an install brings another version, and replaces the old build', () => {
    runScript('gpu-binaries.mjs', 'vulkan')
    expect(install('2.0.0')).toContain('linux-x64-vulkan@1.2.3 is of another version')
    expect(existsSync(built('linux-x64-vulkan'))).toBe(false)
    runScript('gpu-binaries.mjs', 'vulkan')
    expect(read('linux-x64-vulkan')).toBe('@node-llama-cpp/linux-x64-vulkan@2.0.0')
    expect(existsSync(join(root, '.gpu-binaries/linux-x64-vulkan@1.2.3'))).toBe(false)
  })

  it('removes them again', () => {
    runScript('gpu-binaries.mjs', 'cuda')
    expect(runScript('gpu-binaries.mjs', 'remove').status).toBe(0)
    expect(lstatSync(join(root, 'node_modules/@node-llama-cpp/linux-x64-cuda'), { throwIfNoEntry: false })).toBe(
      undefined,
    )
    expect(existsSync(join(root, '.gpu-binaries'))).toBe(false)
  })

  it('makes of both CUDA builds a third one for older drivers, anew with every version', () => {
    const place = (name: string, path: string, text = '') => {
      mkdirSync(join(root, '.gpu-binaries', name, path, '..'), { recursive: true })
      writeFileSync(join(root, '.gpu-binaries', name, path), text)
    }
    place('linux-x64-cuda@1.2.3', 'package.json', '{}')
    place('linux-x64-cuda@1.2.3', 'bins/linux-x64-cuda/libggml-base.so', 'base')
    place('linux-x64-cuda@1.2.3', 'bins/linux-x64-cuda/libggml-cuda.so', 'newest')
    place('linux-x64-cuda-ext@1.2.3', 'bins/linux-x64-cuda/fallback/libggml-cuda.so', 'older')
    place('linux-x64-cuda-fallback@1.2.2', 'package.json', '{}')
    expect(runScript('trim-install.mjs').stdout).toBe('')
    const fallback = join(root, 'node_modules/@node-llama-cpp/linux-x64-cuda-fallback')
    expect(lstatSync(join(fallback, 'package.json')).isFile()).toBe(true)
    expect(readFileSync(join(fallback, 'bins/linux-x64-cuda/libggml-base.so'), 'utf8')).toBe('base')
    expect(readFileSync(join(fallback, 'bins/linux-x64-cuda/libggml-cuda.so'), 'utf8')).toBe('older')
    runScript('gpu-binaries.mjs', 'remove')
    expect(lstatSync(fallback, { throwIfNoEntry: false })).toBe(undefined)
  })

  it('leaves nothing behind when the fetch fails', () => {
    writeFileSync(join(root, 'bin/npm'), '#!/bin/sh\nexit 7\n', { mode: 0o755 })
    const { status, stderr } = runScript('gpu-binaries.mjs', 'cuda')
    expect({ status, stderr: stderr.trim() }).toEqual({ status: 1, stderr: 'npm pack failed with 7' })
    expect(runScript('trim-install.mjs').status).toBe(0)
    expect(lstatSync(join(root, 'node_modules/@node-llama-cpp/linux-x64-cuda')).isSymbolicLink()).toBe(false)
  })

  it('takes them from a folder where there is no network', () => {
    spawnSync(join(root, 'bin/npm'), ['pack', '@node-llama-cpp/linux-x64-vulkan@1.2.3', '--pack-destination', root])
    writeFileSync(join(root, 'bin/npm'), '#!/bin/sh\nexit 7\n', { mode: 0o755 })
    expect(runScript('gpu-binaries.mjs', 'vulkan', '--from', root)).toMatchObject({ status: 0, stderr: '' })
    expect(read('linux-x64-vulkan')).toBe('@node-llama-cpp/linux-x64-vulkan@1.2.3')
  })

  it('names its choices', () => {
    expect(runScript('gpu-binaries.mjs', 'metal').stderr).toContain('cuda|vulkan|remove')
  })
})
