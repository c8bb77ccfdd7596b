import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStream, post, startTestEngine } from './test-support/test-engine.fixture.ts'
import { tinyPlainTemplate, tinyToolTemplate, writeTinyModel } from './models/tiny-model.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const model = 'tiny'
const endless = { model, messages, ignore_eos: true }
const main = fileURLToPath(new URL('../cli/main.ts', import.meta.url))

let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
  file = join(folder, 'tiny.gguf')
  await writeTinyModel(file, { chatTemplate: tinyPlainTemplate })
})
afterAll(() => rm(folder, { recursive: true }))

const start = (more: Partial<Parameters<typeof startTestEngine>[0]> = {}) =>
  startTestEngine({ modelPath: file, servedModelName: model, maxNumSeqs: 2, ...more })

describe('stopping an engine', () => {
  it('lets a running answer end within the grace and takes nothing new', async () => {
    const engine = await start()
    await engine.ready
    const running = await openStream(engine, { ...endless, max_tokens: 200 })
    const stopped = engine.stop(30_000)
    const late = await post(engine, '/v1/chat/completions', { model, messages })
    expect([late.status, await late.json()]).toMatchObject([503, { error: { code: 'stopping' } }])
    expect((await fetch(`${engine.address.url}/health`)).status).toBe(503)
    expect(await running.rest()).toMatch(/"finish_reason":"length".*\[DONE\]\n\n$/s)
    await stopped
    await expect(fetch(`${engine.address.url}/health`)).rejects.toThrow('fetch failed')
  })

  it('ends answers that outlast the grace with an error event', async () => {
    const reasoning = join(folder, 'reasoning')
    await mkdir(reasoning)
    await writeTinyModel(join(reasoning, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
    const opensThought = tinyPlainTemplate.replace('assistant\\n', 'assistant\\n<think>\\n')
    await writeFile(join(reasoning, 'chat_template.jinja'), opensThought)
    const engine = await start({ modelPath: reasoning })
    await engine.ready
    // The template has opened the reasoning section itself, so the engine must show that beginning to the client.
    const answer = await post(engine, '/v1/chat/completions', { model, messages, max_tokens: 3 })
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { content: expect.stringMatching(/^<think>\n./) } }],
      usage: { completion_tokens: 3 },
    })
    const running = await openStream(engine, endless)
    const stopped = engine.stop(0)
    expect(await running.rest()).toMatch(/data: \{"error":\{"message":"[^"]+","type":"server_error","code":"stopping"/)
    await stopped
  })

  it('can be stopped while the model is loading', async () => {
    const engine = await start()
    await engine.stop(0)
    await expect(engine.ready).rejects.toThrow(expect.objectContaining({ code: 'stopping' }))
  })
})

describe('sluice serve as a process', () => {
  const processes: ChildProcess[] = []
  afterAll(() => {
    for (const child of processes) child.kill('SIGKILL')
  })

  it('ends with 0 on SIGTERM, after the answer it was writing', async () => {
    const flags = ['--port', '0', '--served-model-name', model]
    const child = spawn(process.execPath, [main, 'serve', file, ...flags], { stdio: ['ignore', 'inherit', 'pipe'] })
    processes.push(child)
    const url = await urlOf(child)
    const engine = { address: { url, host: '', port: 0 }, ready: Promise.resolve(), stop: () => Promise.resolve() }
    await healthy(url)
    const running = await openStream(engine, { ...endless, max_tokens: 200 })
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await running.rest()).toMatch(/"finish_reason":"length".*\[DONE\]\n\n$/s)
    expect(await exited).toEqual([0, null])
  })

  async function urlOf(child: ChildProcess): Promise<string> {
    let seen = ''
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the engine ended: ${seen}`)))
      child.stderr?.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        const url = /"url":"([^"]+)"/.exec(seen)?.[1]
        if (url !== undefined) resolve(url)
      })
    })
  }

  async function healthy(url: string): Promise<void> {
    await expect.poll(async () => (await fetch(`${url}/health`)).status, { timeout: 15_000 }).toBe(200)
  }
})

describe('an engine that cannot start', () => {
  it('says both numbers when the cards do not match', async () => {
    await expect(start({ tensorParallelSize: 2 })).rejects.toThrow(/is 2, but the engine was given 1 card/)
  })

  it('says which port is taken, and why a file is no model', async () => {
    const broken = join(folder, 'broken.gguf')
    await writeFile(broken, 'this is not a model')
    const engine = await start({ modelPath: broken })
    await expect(start({ port: engine.address.port })).rejects.toThrow(expect.objectContaining({ code: 'port_in_use' }))
    await expect(engine.ready).rejects.toThrow(expect.objectContaining({ code: 'model_files_unusable' }))
    const health = await fetch(`${engine.address.url}/health`)
    expect([health.status, await health.json()]).toMatchObject([503, { status: 'failed' }])
    const asked = await post(engine, '/v1/chat/completions', { model, messages })
    expect([asked.status, await asked.json()]).toMatchObject([503, { error: { code: 'model_unavailable' } }])
    await engine.stop(0)
  })
})

describe('a model whose template has tools', () => {
  const tools = [
    { type: 'function', function: { name: 'get', parameters: { type: 'object', properties: { k: { enum: ['a'] } } } } },
    { type: 'function', function: { name: 'get_time' } },
  ]

  it('calls them as its client can make the call, and reads the results', async () => {
    const path = join(folder, 'tools.gguf')
    await writeTinyModel(path, { chatTemplate: tinyToolTemplate })
    const engine = await start({ modelPath: path })
    await engine.ready
    const chat = async (more: object) => {
      const body = { model, messages, max_tokens: 120, tools, ...more }
      return post(engine, '/v1/chat/completions', body)
    }
    const choice = { type: 'function', function: { name: 'get' } }
    const named = (await (await chat({ tool_choice: choice })).json()) as {
      choices: { message: { content: null; tool_calls: { id: string; function: { arguments: string } }[] } }[]
    }
    const message = named.choices[0]?.message
    expect(named.choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: { content: null, tool_calls: [{ type: 'function', function: { name: 'get' } }] },
      },
    ])
    expect(JSON.parse(message?.tool_calls[0]?.function.arguments ?? '')).toEqual({ k: 'a' })

    const required = await (await chat({ tool_choice: 'required', stream: true, parallel_tool_calls: false })).text()
    expect(required).toMatch(
      /"delta":\{"tool_calls":\[\{"index":0,"id":"[^"]+","type":"function","function":\{"name":"get/,
    )
    expect(required).toMatch(/"finish_reason":"tool_calls"/)

    const free = (await (await chat({ max_tokens: 5 })).json()) as object
    expect(free).toMatchObject({ choices: [{ finish_reason: 'length', message: { tool_calls: [] } }] })

    const result = { role: 'tool', tool_call_id: message?.tool_calls[0]?.id, content: '{"t":20}' }
    const history = [...messages, message, result]
    const tokenized = await post(engine, '/tokenize', { messages: history })
    const { tokens } = (await tokenized.json()) as { tokens: number[] }
    const { prompt } = (await (await post(engine, '/detokenize', { tokens })).json()) as { prompt: string }
    expect(prompt).toContain('<tool_call>\n{"name": "get", "arguments": {"k": "a"}}\n</tool_call>')
    expect(prompt).toMatch(/<tool_response>\n\{"t": ?20\}\n<\/tool_response><\|im_end\|>\n<\|im_start\|>assistant\n$/)

    const unsupported = { type: 'function', function: { name: 'x', parameters: { type: 'string', pattern: '(?=a)' } } }
    expect(await (await chat({ tools: [unsupported] })).json()).toMatchObject({
      error: { code: 'unsupported_parameter', param: 'tools[0].function.parameters.pattern' },
    })
    await engine.stop(0)
  })
})
