import { describe, expect, it } from 'vitest'
import { parseChatRequest, parseTextRequest, parseTokenizeRequest } from './completion-request.ts'

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
    })
  })

  it('fills what a request leaves open from the defaults, and a seed from chance', () => {
    expect(samplingOf({})).toEqual({ ...defaults, seed: 7, presencePenalty: 0, frequencyPenalty: 0 })
    expect(samplingOf({ temperature: 0, top_k: -1, seed: -1 })).toMatchObject({
      temperature: 0,
      topK: 0,
      seed: 0xffff_ffff,
    })
  })

  it('does not mix a default repetition penalty into a requested presence penalty', () => {
    expect(samplingOf({ presence_penalty: 1 })).toMatchObject({ presencePenalty: 1, repetitionPenalty: 1 })
  })

  it('prefers max_completion_tokens over max_tokens', () => {
    expect(chat({ max_tokens: 5, max_completion_tokens: 9 }).maxTokens).toBe(9)
    expect(chat({ max_tokens: 5 }).maxTokens).toBe(5)
    expect(chat({}).maxTokens).toBeUndefined()
  })

  it('lets unsupported parameters pass where they ask for nothing', () => {
    const asksForNothing = {
      n: 1,
      tools: [],
      tool_choice: 'none',
      logprobs: false,
      logit_bias: {},
      response_format: { type: 'text' },
      service_tier: null,
      user: 'somebody',
    }
    expect(() => chat(asksForNothing)).not.toThrow()
  })

  it.each([
    ['n', 2],
    ['tools', [{ type: 'function' }]],
    ['tool_choice', 'required'],
    ['logprobs', true],
    ['top_logprobs', 3],
    ['response_format', { type: 'json_object' }],
    ['logit_bias', { 50: 1 }],
    ['guided_json', {}],
    ['metadata', { a: 'b' }],
    ['constructor', 1],
  ])('refuses %s, naming it', (param, value) => {
    expect(() => chat({ [param]: value })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', details: expect.objectContaining({ param }) }),
    )
  })

  it('refuses penalties it cannot combine', () => {
    expect(() => chat({ repetition_penalty: 1.2, presence_penalty: 1 })).toThrow(/repetition_penalty is not supported/)
  })

  it.each([
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hi' }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }, 'messages[0].content[0].type'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 'Hi', name: 'Bob' }] }, 'messages[0]'],
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
  it('takes one prompt, alone or in a list', () => {
    expect(parseTextRequest({ model: 'm', prompt: 'Once' }).prompt).toBe('Once')
    expect(parseTextRequest({ model: 'm', prompt: ['Once'] }).prompt).toBe('Once')
    expect(() => parseTextRequest({ model: 'm', prompt: ['a', 'b'] })).toThrow(/prompt/)
  })

  it('refuses what only chats have in a completion', () => {
    expect(() => parseTextRequest({ model: 'm', prompt: 'x', messages })).toThrow(/messages is not supported/)
    expect(() => parseTextRequest({ model: 'm', prompt: 'x', logprobs: 0 })).toThrow(/logprobs is not supported/)
  })

  it('tokenizes a prompt or messages', () => {
    expect(parseTokenizeRequest({ prompt: 'x' })).toEqual({ model: undefined, input: { prompt: 'x', special: true } })
    expect(parseTokenizeRequest({ model: 'm', messages }).input).toEqual({ messages })
  })
})
