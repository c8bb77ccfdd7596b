import { copyFileSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonClients } from '../../scripts/python-clients.mjs'
import { tinyToolTemplate } from '../../src/engine/models/tiny-model.ts'
import { findTestModel, testModelMissing } from '../../src/engine/test-support/test-model.fixture.ts'
import { ModelStage } from '../support/model-stage.ts'
import { runProgram } from '../support/programs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const libraries = pythonClients()
const modelFile = findTestModel()
const missing = [
  ...(libraries === undefined ? ['the Python libraries are not on this machine: `npm test` installs them'] : []),
  ...(modelFile === undefined ? [testModelMissing] : []),
]
/** Only for one that hangs: on a busy machine it takes long to import such libraries. */
const patienceMs = 600_000
const skipped = missing.length === 0 ? '' : ` (skipped: ${missing.join('; ')})`

const stage = new ModelStage(['--require-api-keys'])
const makeKey = async (name: string, ...flags: string[]) => {
  const made = await runProgram(join(root, 'bin/sluice'), ['key', 'create', name, ...flags, '--data', stage.data])
  return made.stdout.trim()
}

interface Said {
  readonly case: string
  readonly facts?: unknown
  readonly error?: string
}

/** Runs a program of tests/clients to its end, and answers what one of its cases found. */
async function runClient(program: string, keys: Readonly<Record<string, string>>): Promise<(name: string) => unknown> {
  const env = {
    ...process.env,
    ...keys,
    PYTHONPATH: libraries ?? '',
    SLUICE_BASE_URL: `${stage.sluice.endpoints.gateway}/openai/v1`,
    SLUICE_MODEL: 'smollm2',
  }
  const script = join(root, 'tests/clients', program)
  // What Python compiles on the way would be left among the sources, and is kept for the next run.
  const run = promisify(execFile)('python3', ['-X', `pycache_prefix=${libraries}-compiled`, script], {
    env,
    timeout: patienceMs,
  })
  const lines = (await run).stdout.trim().split('\n')
  const said = lines.map((line): Said => JSON.parse(line))
  return (name) => {
    const found = said.find((one) => one.case === name)
    if (found === undefined) throw new Error(`${program} has no case ${name}`)
    if (found.error !== undefined) throw new Error(found.error)
    return found.facts
  }
}

const paris = expect.stringContaining('Paris')
const city = { class: 'City', size: expect.stringMatching(/^(small|large)$/) }
const unit = /^\{"unit": ?"(celsius|kelvin)"\}$/
const notFound = { status: 404, code: 'model_not_found', message: expect.stringContaining('nobody does not exist') }
const wrongKey = { status: 401, code: 'invalid_api_key', message: expect.stringContaining('sluice key create') }

describe.skipIf(missing.length > 0)(`Python programs and a model that sleeps at first${skipped}`, () => {
  const keys = { SLUICE_API_KEY: '', SLUICE_NARROW_KEY: '' }

  beforeAll(async () => {
    await stage.start()
    const folder = join(stage.folder, 'models/smollm2')
    mkdirSync(folder, { recursive: true })
    copyFileSync(modelFile ?? '', join(folder, 'model.gguf'), constants.COPYFILE_FICLONE)
    // The model's own template knows no tools.
    writeFileSync(join(folder, 'chat_template.jinja'), tinyToolTemplate)
    await stage.create('smollm2', { url: 'pvc://userdata/models/smollm2', minReplicas: 0 })
    keys.SLUICE_API_KEY = await makeKey('tester')
    keys.SLUICE_NARROW_KEY = await makeKey('narrow', '--models', 'other')
  })
  afterAll(() => stage.destroy())

  describe('with OpenAI’s library', () => {
    let facts: (name: string) => unknown
    beforeAll(async () => {
      facts = await runClient('openai_sdk.py', keys)
    }, patienceMs)

    it('list models, and look at one', () => {
      expect(facts('models')).toEqual({ listed: ['smollm2'], one: 'smollm2' })
    })

    it('chat', () => {
      const expected = { text: paris, role: 'assistant', finish: 'stop', tokens: [16, 8, 24] }
      expect(facts('chat')).toEqual(expected)
      expect(facts('asynchronous')).toEqual({ text: paris, streamed: true })
    })

    it('stream an answer that is the same, with its usage', () => {
      expect(facts('stream')).toMatchObject({ same: true, tokens: 8 })
    })

    it('leave a stream in the middle, and ask again', () => {
      expect(facts('stream_left_early')).toBe('stop')
    })

    it('call tools, in pieces, too, and go on with what these told', () => {
      expect(facts('tool_call')).toEqual({
        name: 'weather',
        arguments: expect.stringMatching(unit),
        finish: 'tool_calls',
      })
      expect(facts('tool_stream')).toEqual([{ name: 'weather', arguments: expect.stringMatching(unit) }])
      expect(facts('tool_answer')).toEqual({ text: expect.stringMatching(/\w/), calls: [] })
    })

    it('get objects of a pydantic class, which has bounds', () => {
      expect(facts('structured_output')).toMatchObject(city)
      expect(facts('responses_structured')).toEqual(city)
    })

    it('use responses, in pieces, too', () => {
      expect(facts('responses')).toEqual({ text: paris, object: 'response', tokens: 8 })
      expect(facts('responses_stream')).toMatchObject({ first: 'response.created', last: 'response.completed' })
    })

    it('complete several texts at once', () => {
      expect(facts('completion')).toMatchObject({ texts: [expect.any(String), expect.any(String)] })
    })

    it('embed texts, the same as base64 and as numbers', () => {
      expect(facts('embeddings')).toEqual({ sizes: [576, 576], same: true })
    })

    it.each([
      ['a model that is not there', 'model_not_found', { class: 'NotFoundError', ...notFound }],
      ['a wrong key', 'wrong_key', { class: 'AuthenticationError', ...wrongKey }],
      [
        'a key for another model',
        'key_for_another_model',
        { class: 'PermissionDeniedError', code: 'model_not_allowed' },
      ],
      ['a parameter that is too large', 'bad_parameter', { class: 'BadRequestError', status: 400 }],
    ])('catch the library’s own exception for %s', (_what, name, exception) => {
      expect(facts(name)).toMatchObject(exception)
    })

    it('give up when they have waited long enough, and others are served', () => {
      expect(facts('timeout')).toMatchObject({ class: 'APITimeoutError', afterwards: 'stop' })
    })

    it('read headers beside the answer, although they sent what nobody knows', () => {
      expect(facts('raw_response')).toEqual({ requestId: expect.stringMatching(/^req-/), parsed: 'chat.completion' })
    })
  })

  describe('with LangChain', () => {
    let facts: (name: string) => unknown
    beforeAll(async () => {
      facts = await runClient('langchain_client.py', keys)
    }, patienceMs)

    it('invoke a model, and know its usage', () => {
      const usage = { input_tokens: 16, output_tokens: 8, total_tokens: 24 }
      expect(facts('invoke')).toMatchObject({ text: paris, type: 'ai', usage })
    })

    it('stream an answer that is the same, alone and among other work', () => {
      expect(facts('stream')).toMatchObject({ same: true })
      expect(facts('asynchronous')).toMatchObject({ text: paris })
    })

    it('ask several questions at once', () => {
      expect(facts('batch')).toEqual(['AIMessage', 'AIMessage', 'AIMessage'])
    })

    it('get objects of a pydantic class, by a schema and by a tool', () => {
      expect(facts('structured_output')).toEqual([
        ['City', city.size],
        ['City', city.size],
      ])
    })

    it('run the tool that was called, and answer with what it told', () => {
      expect(facts('tools')).toEqual({ name: 'weather', told: true, text: expect.stringMatching(/\w/) })
    })

    it('use responses', () => {
      expect(facts('responses')).toEqual({ text: paris, tokens: 8 })
    })

    it('embed documents', () => {
      expect(facts('embeddings')).toEqual([576, 576])
    })

    it('catch exceptions for a model that is not there, and for a wrong key', () => {
      expect(facts('model_not_found')).toMatchObject({ class: 'OpenAIModelNotFoundError', ...notFound })
      expect(facts('wrong_key')).toMatchObject({ class: 'OpenAIAuthenticationError', ...wrongKey })
    })
  })

  describe('with LlamaIndex', () => {
    let facts: (name: string) => unknown
    beforeAll(async () => {
      facts = await runClient('llama_index_client.py', keys)
    }, patienceMs)

    it('chat', () => {
      expect(facts('chat')).toEqual({ text: paris, role: 'assistant', id: 'smollm2' })
    })

    it('stream an answer that is the same, alone and among other work', () => {
      expect(facts('stream')).toMatchObject({ same: true })
      expect(facts('asynchronous')).toMatchObject({ text: paris })
    })

    it('complete a text, in pieces, too', () => {
      expect(facts('complete')).toEqual({ text: expect.stringMatching(/\w/), streamed: expect.stringMatching(/\w/) })
    })

    it('call tools', () => {
      expect(facts('tools')).toEqual([['weather', { unit: expect.stringMatching(/^(celsius|kelvin)$/) }]])
    })

    it('get objects of a pydantic class', () => {
      expect(facts('structured_output')).toEqual(city)
    })

    it('catch the exception for a wrong key', () => {
      expect(facts('wrong_key')).toMatchObject({ class: 'AuthenticationError', ...wrongKey })
    })
  })
})
