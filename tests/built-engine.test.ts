import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtEngine, enginePlace } from '../bin/built-engine.mjs'
import { buildEngine } from '../scripts/build-engine.ts'
import { tinyPlainTemplate, writeTinyModel } from '../src/engine/models/tiny-model.ts'

/** Only for one that hangs: a busy machine takes long to start a process. */
const deadlineMs = 180_000
const folder = mkdtempSync(join(tmpdir(), 'sluice-built-engine-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('whether the built engine is used', () => {
  const write = (path: string, text: string, second: number) => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
    utimesSync(join(folder, path), second, second)
  }
  const built = join(folder, 'bin/dist/engine.cjs')

  it('is not where there is none', () => {
    expect(builtEngine(folder)).toBeUndefined()
  })

  it('is while no source is newer, and where the sources are not', () => {
    write('bin/dist/engine-sources.json', '["src/a.ts","src/gone.ts"]', 100)
    write('bin/dist/engine.cjs', '', 100)
    write('src/a.ts', '', 99)
    expect(builtEngine(folder)).toBe(built)
    write('src/a.ts', '', 101)
    expect(builtEngine(folder)).toBeUndefined()
    write('bin/dist/engine-sources.json', '[]', 100)
    expect(builtEngine(folder)).toBe(built)
  })
})

describe('the built engine', () => {
  let engine: ChildProcess
  let url: string
  beforeAll(async () => {
    await buildEngine()
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file, { chatTemplate: tinyPlainTemplate })
    const words = ['serve', file, '--port', '0', '--served-model-name', 'tiny']
    engine = spawn(process.execPath, [enginePlace, ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
    url = await addressOf(engine)
  }, deadlineMs)
  afterAll(async () => {
    engine.kill('SIGKILL')
    if (engine.exitCode === null && engine.signalCode === null) await once(engine, 'exit')
  })

  const ask = async (more: object) => {
    const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 40, ...more })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    return [answer.status, await answer.json()]
  }

  it("answers, in a schema's form too", async () => {
    await expect.poll(async () => (await fetch(`${url}/health`)).status, { timeout: deadlineMs }).toBe(200)
    expect(await ask({})).toMatchObject([200, { choices: [{ message: { role: 'assistant' } }] }])
    const schema = { type: 'string', enum: ['yes'] }
    const format = { type: 'json_schema', json_schema: { name: 'one', schema } }
    expect(await ask({ response_format: format })).toMatchObject([
      200,
      { choices: [{ message: { content: '"yes"' } }] },
    ])
  })

  it('finds the files that belong to it', async () => {
    const answer = await fetch(`${url}/version`)
    expect(await answer.json()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
    expect(builtEngine()).toBe(enginePlace)
  })

  it('loads nothing of Node that it has no use for', async () => {
    const report = 'data:text/javascript,' + encodeURIComponent(reportLoaded)
    const words = ['--import', report, enginePlace, 'serve', join(folder, 'nowhere')]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] })
    const loaded = await text(child.stdout)
    expect(loaded).toContain('NativeModule fs,')
    for (const name of ['tls', 'crypto', 'cluster', 'child_process'])
      expect(loaded).not.toContain(`NativeModule ${name},`)
  })

  it('ends when it is told to', async () => {
    const exited = once(engine, 'exit')
    engine.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})

/** Run before a program: says which of Node's modules were loaded until it ended. */
const reportLoaded = `process.on('exit', () => process.stdout.write(process.moduleLoadList.join() + ','))`

async function addressOf(engine: ChildProcess): Promise<string> {
  if (!engine.stderr) throw new Error('its standard error is not read')
  const seen: string[] = []
  for await (const line of createInterface({ input: engine.stderr })) {
    seen.push(line)
    const [, url] = /"url":"([^"]+)"/.exec(line) ?? []
    if (url === undefined) continue
    engine.stderr.resume()
    return url
  }
  throw new Error(`the engine ended: ${seen.join('\n')}`)
}
