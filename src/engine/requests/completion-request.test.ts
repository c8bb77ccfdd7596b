import { describe, expect, it } from 'vitest'
import { parseChatRequest } from './chat-request.ts'
import { parseEmbeddingRequest } from './embedding-request.ts'
import { parseTextRequest } from './text-request.ts'
import { parseTokenizeRequest } from './token-requests.ts'

const defaults = { temperature: 0.7, topP: 0.95, topK: 40, minP: 0.05, repetitionPenalty: 1.1 }
const messages = [{ role: 'user', content: 'Hi' }]
const chat = (more: object) => parseChatRequest({ model: 'm', messages, ...more })
const samplingOf = (more: object) => chat(more).sampling(defaults, () => 7)

describe('chat requests', () => {
  it('joins text parts and reads a developer message as a system message', () => {
    const parts = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]
    const request = chat({
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: parts },
      ],
    })
    expect(request.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one\ntwo' },
    ])
  })

  it('takes back an answer of its own as history', () => {
    const answer = { role: 'assistant', content: 'Hello.', tool_calls: [] }
    expect(chat({ messages: [...messages, answer, ...messages] }).messages[1]).toEqual({
      role: 'assistant',
      content: 'Hello.',
      toolCalls: [],
    })
  })

  it('takes back a tool call of its own, with its result', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const answer = { role: 'assistant', content: null, tool_calls: [call] }
    const result = { role: 'tool', tool_call_id: 'c1', content: 'seen' }
    expect(chat({ messages: [...messages, answer, result] }).messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
      { role: 'tool', content: 'seen', toolCallId: 'c1' },
    ])
  })

  it('fills what a request leaves open from the defaults, and a seed from chance', () => {
    const neutral = { seed: 7, presencePenalty: 0, frequencyPenalty: 0, logitBias: new Map() }
    expect(samplingOf({})).toEqual({ ...defaults, ...neutral })
    expect(samplingOf({ temperature: 0, top_k: -1, seed: -1 })).toMatchObject({
      temperature: 0,
      topK: 0,
      seed: 0xffff_ffff,
    })
  })

  it('combines penalties', () => {
    expect(samplingOf({ presence_penalty: 1, repetition_penalty: 1.2 })).toMatchObject({
      presencePenalty: 1,
      repetitionPenalty: 1.2,
    })
  })

  it('chooses among tools as told, and by itself when there are some', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }]
    expect(chat({}).toolChoice).toEqual({ type: 'none' })
    expect(chat({ tools }).toolChoice).toEqual({ type: 'auto' })
    expect(chat({ tools, tool_choice: 'none' }).tools).toEqual([])
    const named = { type: 'function', function: { name: 'look' } }
    expect(chat({ tools, tool_choice: named }).toolChoice).toEqual({ type: 'function', name: 'look' })
  })

  it('prefers max_completion_tokens over max_tokens', () => {
    expect(chat({ max_tokens: 5, max_completion_tokens: 9 }).maxTokens).toBe(9)
    expect(chat({ max_tokens: 5 }).maxTokens).toBe(5)
    expect(chat({}).maxTokens).toBeUndefined()
  })

  it('lets unsupported parameters pass where they ask for nothing', () => {
    const asksForNothing = {
      best_of: 1,
      functions: [],
      tools: [],
      tool_choice: 'none',
      logprobs: false,
      logit_bias: {},
      response_format: { type: 'text' },
      store: false,
      metadata: { a: 'b' },
      service_tier: null,
      user: 'somebody',
    }
    expect(() => chat(asksForNothing)).not.toThrow()
  })

  it.each([
    ['best_of', 2],
    ['functions', [{ name: 'x' }]],
    ['prompt_logprobs', 1],
    ['min_tokens', 5],
    ['stop_token_ids', [1]],
    ['chat_template_kwargs', { enable_thinking: true }],
    ['web_search_options', {}],
  ])('refuses %s, naming it', (param, value) => {
    expect(() => chat({ [param]: value })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', details: expect.objectContaining({ param }) }),
    )
  })

  it.each([
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hi' }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ n: 17 }, 'n'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ logit_bias: { x: 1 } }, 'logit_bias.x'],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'x' } } }, 'tool_choice'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }, 'messages[0].content[0].type'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    [{ temperature: 3 }, 'temperature'],
    [{ temperature: '0' }, 'temperature'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ stop: '' }, 'stop'],
    [{ stream: true, stream_options: { other: true } }, 'stream_options'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ model: undefined }, 'model'],
  ])('refuses %o, pointing at %s', (wrong, param) => {
    expect(() => chat(wrong)).toThrow(
      expect.objectContaining({ code: 'invalid_request', details: expect.objectContaining({ param }) }),
    )
  })

  it('refuses a body that is not an object', () => {
    expect(() => parseChatRequest([1])).toThrow('must be a JSON object')
  })
})

describe('other requests', () => {
  it('takes prompts as texts or as tokens, one or several', () => {
    const promptsOf = (prompt: unknown) => parseTextRequest({ model: 'm', prompt }).prompts
    expect(promptsOf('Once')).toEqual(['Once'])
    expect(promptsOf(['a', 'b'])).toEqual(['a', 'b'])
    expect(promptsOf([1, 2])).toEqual([[1, 2]])
    expect(promptsOf([[1], [2]])).toEqual([[1], [2]])
    expect(() => promptsOf([])).toThrow(/prompt/)
    expect(() => parseTextRequest({ model: 'm', prompt: Array(40).fill('a'), n: 2 })).toThrow(/more than 64 answers/)
  })

  it('refuses what it cannot do in a completion', () => {
    expect(() => parseTextRequest({ model: 'm', prompt: 'x', messages })).toThrow(/messages is not supported/)
    expect(() => parseTextRequest({ model: 'm', prompt: 'x', echo: true, logprobs: 1 })).toThrow(
      /echo is not supported/,
    )
    const format = { type: 'json_object' }
    expect(() => parseTextRequest({ model: 'm', prompt: 'x', response_format: format, logprobs: 1 })).toThrow(
      /logprobs/,
    )
  })

  it('takes inputs to embed as texts or as tokens', () => {
    const parse = (more: object) => parseEmbeddingRequest({ model: 'm', ...more })
    expect(parse({ input: 'x' })).toEqual({ model: 'm', inputs: ['x'], encoding: 'float' })
    expect(parse({ input: [[1], [2]], encoding_format: 'base64' })).toMatchObject({ encoding: 'base64' })
    expect(() => parse({ input: '' })).toThrow(/empty/)
    expect(() => parse({ input: 'x', dimensions: 3 })).toThrow(/dimensions is not supported/)
  })

  it('tokenizes a prompt or messages', () => {
    const input = { prompt: 'x', special: true }
    expect(parseTokenizeRequest({ prompt: 'x' })).toEqual({ model: undefined, input, withTexts: false })
    expect(parseTokenizeRequest({ model: 'm', messages }).input).toEqual({ messages })
  })
})
