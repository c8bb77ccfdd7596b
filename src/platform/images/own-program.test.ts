import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { engineMemorySettings, mainProgram, memorySettings, nodeFlag } from './own-program.ts'

describe('how this program is run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-own-program-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  /** What a Node that it is installed with is told. */
  function toldByScript(command: string) {
    const node = join(folder, 'node_modules/node/bin/node')
    for (const path of [node, join(folder, 'bin/sluice')]) mkdirSync(dirname(path), { recursive: true })
    copyFileSync(join(dirname(mainProgram), 'sluice'), join(folder, 'bin/sluice'))
    writeFileSync(node, '#!/bin/sh\nenv; echo "words: $*"\n', { mode: 0o755 })
    const env = { PATH: process.env['PATH'] }
    const lines = execFileSync(join(folder, 'bin/sluice'), [command], { env, encoding: 'utf8' }).trim().split('\n')
    const settings = lines
      .filter((line) => /^(MALLOC|GLIBC)_/.test(line))
      .map((line) => line.split(/=(.*)/).slice(0, 2))
    const flags = (lines.at(-1) ?? '').split(' ').filter((word) => word.startsWith('-'))
    return { settings: Object.fromEntries(settings), flags }
  }

  it('is the same in Pods and images as by the script that people call', () => {
    expect(toldByScript('up')).toEqual({ settings: memorySettings, flags: [nodeFlag] })
    expect(toldByScript('serve').settings).toEqual({ ...memorySettings, ...engineMemorySettings })
  })
})
