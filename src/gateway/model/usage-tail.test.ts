import { describe, expect, it } from 'vitest'
import { UsageTail } from './usage-tail.ts'

function read(text: string, pieceBytes = text.length || 1) {
  const tail = new UsageTail()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) tail.push(bytes.subarray(at, at + pieceBytes))
  return tail.read()
}

const usage = '"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached":0}}'

describe('UsageTail', () => {
  it.each([
    ['a chat answer', `{"choices":[],${usage},"prompt_logprobs":null}`],
    ['a long answer', `{"choices":["${'x'.repeat(100_000)}"],${usage}}`],
    [
      'the last event of a stream',
      `${'data: {"usage":null}\n\n'.repeat(500)}data: {"choices":[],${usage}}\n\ndata: [DONE]\n\n`,
    ],
    ['an event before others without', `data: {${usage}}\n\ndata: {"choices":[],"usage":null}\n\ndata: [DONE]\n\n`],
    ['spaced JSON', `{\n "usage" : { "prompt_tokens": 7, "completion_tokens": 5 } }`],
    [
      'a stream of `sluice serve` whose client did not ask',
      `${'data: {"choices":[{}]}\n\n'.repeat(500)}: 7 prompt tokens, 5 completion tokens\n\ndata: [DONE]\n\n`,
    ],
    ['a transcription', '{"text":"x","usage":{"type":"tokens","input_tokens":7,"output_tokens":5,"total_tokens":12}}'],
  ])('reads what %s took, however it is cut into pieces', (_case, text) => {
    for (const pieceBytes of [100, 1_000, 10_000, text.length]) {
      expect(read(text, pieceBytes)).toEqual({ promptTokens: 7, completionTokens: 5 })
    }
  })

  it('knows that embeddings complete nothing', () => {
    expect(read('{"data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}')).toEqual({
      promptTokens: 3,
      completionTokens: 0,
    })
  })

  it.each([
    ['nothing', ''],
    ['no usage', '{"choices":[]}'],
    ['a comment about something else', 'data: {}\n\n: the model wakes\n\ndata: [DONE]\n\n'],
    ['a comment that the model talks about', '{"content":"\\n: 7 prompt tokens, 5 completion tokens\\n"}'],
    [
      'usage that the model only talks about',
      '{"choices":[{"message":{"content":"\\"usage\\":{\\"prompt_tokens\\":9}"}}]}',
    ],
    ['a duration', '{"text":"x","usage":{"type":"duration","seconds":3}}'],
    ['counts that are none', '{"usage":{"prompt_tokens":"7","completion_tokens":-5}}'],
    ['an object that does not end', '{"usage":{"prompt_tokens":7'],
  ])('makes nothing of %s', (_case, text) => {
    expect(read(text)).toBeUndefined()
  })
})
