import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { commands } from '../commands.ts'
import { completionsFor } from './complete-words.ts'
import { completionScripts } from './completion-scripts.ts'

const live = (kind: string) => Promise.resolve(kind === 'model' ? ['demo', 'llama'] : ['demo', 'demo-pod'])
const complete = (line: string) => completionsFor(line.split(' '), commands, live)

describe('what a shell offers', () => {
  it.each([
    ['sta', ['status']],
    ['model ', ['add', 'cache', 'import', 'list', 'pull', 'rm', 'sleep']],
    ['model l', ['list']],
    ['wake ', ['demo', 'llama']],
    ['wake l', ['llama']],
    ['wake demo ', []],
    ['wake --timeout 5 d', ['demo']],
    ['logs --tail 5 demo', ['demo', 'demo-pod']],
    ['model list -o ', ['json', 'name', 'wide', 'yaml']],
    ['model list --ku', ['--kubeconfig']],
    ['model list --data ', []],
    ['completion ', ['bash', 'fish', 'zsh']],
    ['help mod', ['model']],
    ['help model p', ['pull']],
    ['nonsense ', []],
  ])('for "%s"', async (line, offered) => {
    expect(await complete(line)).toEqual(offered)
  })

  it('has nothing that only programs use', async () => {
    expect(await complete('__')).toEqual([])
  })
})

describe('bash', () => {
  it('asks the program with the words so far, and takes what it says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-completion-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'sluice'), '#!/bin/sh\nshift 2\nfor word; do echo "offered-$word"; done\n', {
      mode: 0o755,
    })
    writeFileSync(join(folder, 'script'), completionScripts.bash)
    const press = `source ${folder}/script; COMP_WORDS=(sluice chat --api-key 'a b' de); COMP_CWORD=4; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` }
    const offered = execFileSync('bash', ['--norc', '-c', press], { encoding: 'utf8', env })
    expect(offered.trim().split('\n')).toEqual(['offered-chat', 'offered---api-key', 'offered-a b', 'offered-de'])
  })
})
