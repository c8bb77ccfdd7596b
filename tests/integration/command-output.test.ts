import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { ModelStage } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'

const program = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2'])
const elsewhere = mkdtempSync(join(tmpdir(), 'sluice-output-'))

/** What is typed of each command that has `-o`. Each leaves behind what the next ones show. */
const typed: Readonly<Record<string, string>> = {
  version: 'version',
  'model add': `model add ${join(elsewhere, 'tiny.gguf')} --name tiny`,
  'model list': 'model list',
  wake: 'wake tiny',
  ps: 'ps',
  status: 'status',
  'key list': 'key list',
  'access-key list': 'access-key list',
  'image list': 'image list',
  'cluster create': 'cluster create team',
  'cluster list': 'cluster list',
  'cluster show': 'cluster show team',
  audit: 'audit --resource models --verb create --last 1',
  top: 'top --interval 0.1',
  sleep: 'sleep tiny',
  usage: 'usage',
  // None of this name is installed anywhere.
  'service status': 'service status --user --name sluice-of-nobody',
  // It looks at what nobody uses.
  doctor: 'doctor',
}
/** Where it is not 0 alone: nothing of that name is installed, and a busy machine may have something to complain of. */
const exitCodes: Readonly<Record<string, readonly number[]>> = { 'service status': [3], doctor: [0, 1] }
/** What has to be in it: it is measured or written some time after the command before it. */
const awaited: Readonly<Record<string, string>> = {
  'model list': '"EngineAvailable"',
  ps: '"idleUntil"',
  top: '"memoryBytes"',
  usage: '"model"',
  audit: '"auditID"',
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function sluice(words: string): Promise<Ended> {
  const env = { ...process.env, SLUICE_DATA: stage.data, XDG_CONFIG_HOME: join(elsewhere, 'config') }
  return new Promise((resolve) => {
    execFile(program, words.split(' '), { cwd: elsewhere, env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })
}

/** Which fields there are, and what is in them: programs depend on that, whatever the values are. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map(shapeOf)
    return shapes.filter((shape, at) => shapes.findIndex((other) => isDeepStrictEqual(other, shape)) === at)
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
}

/** What a machine has to complain of differs. */
function withoutComplaints(name: string, value: unknown): unknown {
  return name === 'findings' ? [] : value
}

describe('what commands print for programs', () => {
  beforeAll(async () => {
    await stage.start()
    await writeTinyModel(join(elsewhere, 'tiny.gguf'), { chatTemplate: tinyPlainTemplate })
    await sluice('key create app --models tiny')
  })
  afterAll(async () => {
    await stage.destroy()
    rmSync(elsewhere, { recursive: true })
  })

  it('is looked at here for every command that has -o', () => {
    const withForms = commands.filter(({ flags }) => flags.some(({ name }) => name === 'output'))
    expect(Object.keys(typed).toSorted()).toEqual(withForms.map(({ name }) => name).toSorted())
  })

  it.each(Object.entries(typed))('of sluice %s -o json', async (name, words) => {
    let printed: Ended = { code: 0, stdout: '', stderr: '' }
    if (name === 'doctor') await stage.sluice.stop()
    const print = () => sluice(`${words} -o json`)
    const wanted = awaited[name] ?? ''
    await until(`${name} to print ${wanted}`, 90_000, async () => (printed = await print()).stdout.includes(wanted))
    expect(exitCodes[name] ?? [0]).toContain(printed.code)
    expect(shapeOf(JSON.parse(printed.stdout, withoutComplaints))).toMatchSnapshot()
  })
})
