import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { labImages, tellingLabEngine } from '../support/lab-config.ts'
import { ModelStage } from '../support/model-stage.ts'
import { Terminal } from '../support/terminal.ts'

const program = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=4'])
stage.addFlags('--config', join(stage.data, 'config.yaml'))
const elsewhere = mkdtempSync(join(tmpdir(), 'sluice-elsewhere-'))
/** As `sluice up` left it for commands in other folders; nothing else says where the cluster is. */
const env = {
  ...process.env,
  XDG_CONFIG_HOME: join(stage.data, 'config'),
  PATH: `${join(program, '..')}:${process.env['PATH'] ?? ''}`,
}
const load = join(stage.folder, 'models/load.json')

function say(bytes: number): void {
  writeFileSync(`${load}.new`, JSON.stringify({ phase: 'reading', bytes, totalBytes: 100e9, stillSeconds: 0 }))
  renameSync(`${load}.new`, load)
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** `sluice …` as somebody in another folder types it; `heard` is what it has told about its work so far. */
function begin(words: string, input = ''): { readonly ended: Promise<Ended>; readonly heard: () => string } {
  let heard = ''
  const ended = new Promise<Ended>((resolve) => {
    const options = { cwd: elsewhere, env, timeout: 120_000 }
    const child = execFile(program, words.split(' '), options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
    child.stderr?.on('data', (text: string) => (heard += text))
    child.stdin?.on('error', () => {}).end(input)
  })
  return { ended, heard: () => heard }
}

function sluice(words: string): Promise<Ended> {
  return begin(words).ended
}

describe('the command line, from any folder', () => {
  beforeAll(async () => {
    writeFileSync(
      join(stage.data, 'config.yaml'),
      JSON.stringify({ images: labImages, engines: { Telling: tellingLabEngine } }),
    )
    await stage.start()
    mkdirSync(join(stage.folder, 'models'), { recursive: true })
    writeFileSync(join(stage.folder, 'models/weights.bin'), 'weights')
    await writeTinyModel(join(elsewhere, 'Tiny_Model.gguf'), { chatTemplate: tinyPlainTemplate })
  })
  afterAll(async () => {
    await stage.destroy()
    rmSync(elsewhere, { recursive: true })
  })

  it('says that all is well, and that nothing runs yet', async () => {
    const { code, stdout } = await sluice('status -o json')
    expect(JSON.parse(stdout)).toMatchObject({
      running: true,
      cluster: stage.sluice.endpoints.clusterId,
      pid: stage.sluice.endpoints.pid,
      health: { gateway: 'ok', management: 'ok' },
      nodes: { ready: 1, all: 1 },
      models: { awake: 0, all: 0 },
      attention: [],
    })
    expect(code).toBe(0)
    expect(await sluice('ps')).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No model runs') })
  })

  it('adds, wakes, shows, logs, puts to sleep and removes a model', async () => {
    const added = await sluice('model add ./Tiny_Model.gguf --name tiny -o name')
    expect(added).toMatchObject({ code: 0, stdout: 'model.sluice.dev/tiny\n' })
    expect(await sluice('model add ./Tiny_Model.gguf --name tiny')).toMatchObject({ code: 2 })
    expect(await sluice('logs tiny')).toMatchObject({ code: 2, stderr: expect.stringContaining('sluice wake tiny') })

    const woken = await sluice('wake tiny')
    expect(woken).toMatchObject({ code: 0, stdout: 'tiny is awake.\n' })
    const { stdout } = await sluice('ps -o json')
    const [shown] = (JSON.parse(stdout) as { items: object[] }).items
    expect(shown).toMatchObject({
      name: 'tiny',
      phase: 'Ready',
      readyReplicas: 1,
      replicas: 1,
      cards: { 'nvidia.com/gpu-l40s': 1 },
    })
    expect(Object.keys(shown ?? {})).toEqual(expect.arrayContaining(['since', 'idleUntil', 'activeRequests']))
    // A Pod that has just begun to run may not be measured yet.
    await expect
      .poll(async () => (await sluice('top --interval 0.1')).stdout, { timeout: 60_000 })
      .toMatch(/^tiny +Ready +0 +0 +0\.0 +0\.0 +\d+m +\d+Mi +1 × nvidia/m)
    expect((await sluice('logs tiny --tail 5')).stdout).not.toBe('')

    expect(await sluice('sleep tiny')).toMatchObject({ code: 0, stdout: expect.stringContaining('tiny is asleep') })
    expect((await stage.model('tiny')).status).toMatchObject({ phase: 'Asleep', replicas: 0 })
    expect(await sluice('model rm tiny --files')).toMatchObject({ code: 0 })
    expect((await sluice('model list -o name')).stdout).toBe('')
  })

  it('answers once in a pipe, and says meanwhile in plain words that the model wakes', async () => {
    say(45e9)
    await sluice('model add pvc://userdata/models/weights.bin --name big --engine Telling')
    const { ended, heard } = begin('chat big', 'Hi!\n')
    await expect.poll(heard, { timeout: 60_000 }).toContain('big: Waking: reading its files, 45 %')
    rmSync(load)
    expect(await ended).toMatchObject({ code: 0, stdout: '7 bytes, 1 cards\n' })
  })

  it('refuses what there is not, and says what was meant', async () => {
    expect(await sluice('chat bgi x')).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean big?') })
    expect(await sluice('chat big x --gateway http://127.0.0.1:1')).toMatchObject({ code: 4 })
    expect(await sluice('wake nobody')).toMatchObject({ code: 2 })
    expect(await sluice('ps --data /nowhere')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Start it with `sluice up --data /nowhere`'),
    })
  })

  it('is the same with a kubeconfig and one of its contexts', async () => {
    const by = `--kubeconfig ${stage.sluice.kubeconfig}`
    expect((await sluice(`model list -o name ${by}`)).stdout).toBe('model.sluice.dev/big\n')
    expect(await sluice(`chat big Hi ${by}`)).toMatchObject({ code: 2, stderr: expect.stringContaining('--gateway') })
    const asked = await sluice(`chat big Hi ${by} --gateway ${stage.sluice.endpoints.gateway}`)
    expect(asked).toMatchObject({ code: 0, stdout: '7 bytes, 1 cards\n' })
    const wrong = await sluice(`model list ${by} --context east`)
    expect(wrong).toMatchObject({ code: 4, stderr: expect.stringContaining('no cluster for the context east') })
  })

  it('completes the names of models in bash', async () => {
    const press = `source <(sluice completion bash); COMP_WORDS=(sluice wake b); COMP_CWORD=2; _sluice; echo "\${COMPREPLY[@]}"`
    const offered = () =>
      new Promise<string>((resolve) => {
        const options = { cwd: elsewhere, env, timeout: 60_000 }
        execFile('bash', ['--norc', '-c', press], options, (_error, out) => resolve(out.trim()))
      })
    // It gives up soon, since somebody waits; on a busy machine the key has to be pressed again.
    await expect.poll(offered, { timeout: 90_000 }).toBe('big')
  })

  describe.skipIf(findProgram('script') === undefined)('at a terminal', () => {
    function sitDown(...words: string[]): Terminal {
      const terminal = new Terminal([program, ...words], { cwd: elsewhere, env })
      onTestFinished(() => terminal.destroy())
      return terminal
    }

    it('runs a file: makes the Model, wakes it, streams, stops at Ctrl-C, and leaves with /bye', async () => {
      const terminal = sitDown('run', './Tiny_Model.gguf')
      let at = await terminal.sees('Talking to tiny-model')
      at = await terminal.sees('>>> ', at)
      terminal.type('Tell me something long\r')
      at = await terminal.sees(/\n[^\n]{40}/, at)
      terminal.pressControlC()
      at = await terminal.sees('(stopped)', at)
      at = await terminal.sees('>>> ', at)
      terminal.type('/bye\r')
      expect(await terminal.exited).toBe(0)
      expect((await stage.model('tiny-model')).spec.url).toBe('pvc://userdata/models/tiny-model')
    })

    it('brings back what was typed, and leaves at the second Ctrl-C', async () => {
      const terminal = sitDown('chat', 'big')
      let at = await terminal.sees('>>> ')
      terminal.type('How much?\r')
      at = await terminal.sees('7 bytes, 1 cards', at)
      at = await terminal.sees('>>> ', at)
      terminal.type('\u001b[A\r')
      at = await terminal.sees('How much?', at)
      at = await terminal.sees('7 bytes, 1 cards', at)
      at = await terminal.sees('>>> ', at)
      terminal.pressControlC()
      at = await terminal.sees('Ctrl-C again or /bye leaves.', at)
      terminal.pressControlC()
      expect(await terminal.exited).toBe(0)
    })
  })

  it('says what to type when nothing runs any more', async () => {
    await stage.sluice.stop()
    const { code, stderr } = await sluice('ps')
    expect(code).toBe(4)
    expect(stderr).toContain(`Start it with \`sluice up --data ${stage.data}\``)
    const status = await sluice('status -o json')
    expect(status.code).toBe(4)
    expect(JSON.parse(status.stdout)).toMatchObject({ running: false, cluster: stage.data })
  })
})
