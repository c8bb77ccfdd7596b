import { writeFile } from 'node:fs/promises'

/** A template for conversations in ChatML, with tools as Hermes and Qwen models write them. */
export const tinyToolTemplate =
  "{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n<tools>' }}{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}" +
  "{{- '\\n</tools><|im_end|>\\n' }}{%- endif %}" +
  "{%- for message in messages %}{%- if message.role == 'tool' %}{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}" +
  "{%- else %}{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.content %}{{- message.content }}{%- endif %}" +
  '{%- if message.tool_calls %}{%- for call in message.tool_calls %}' +
  '{{- \'\\n<tool_call>\\n{"name": "\' + call.function.name + \'", "arguments": \' }}{{- call.function.arguments | tojson }}{{- \'}\\n</tool_call>\' }}' +
  "{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}" +
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"

export const tinyPlainTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

export interface TinyModelOptions {
  readonly chatTemplate?: string | undefined
  readonly contextLength?: number
  readonly seed?: number
  /**
   * Tokens in addition to letters and bytes. Real vocabularies have tens of thousands, and code that looks at each of
   * them takes time.
   */
  readonly words?: number
}

const width = 64
const layers = 2
const heads = 4
const hidden = 128
const controlTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const merges: readonly (readonly [string, string])[] = [
  ['t', 'h'],
  ['th', 'e'],
  ['Ġ', 'a'],
  ['i', 'n'],
]
/** Large enough that end tokens and broken bytes are practically never sampled. */
const letterScale = 6

/**
 * Writes a language model of a few hundred kilobytes with random weights: a real GGUF file of the llama architecture
 * that llama.cpp loads in milliseconds, to probe cards and for tests. It answers printable nonsense, the same for the
 * same seed, and never ends by itself.
 */
export async function writeTinyModel(path: string, options: TinyModelOptions = {}): Promise<void> {
  await writeFile(path, tinyModel(options))
}

export function tinyModel({ chatTemplate, contextLength = 4096, seed = 1, words = 0 }: TinyModelOptions = {}): Buffer {
  const tokens = [...vocabulary(), ...Array.from({ length: words }, (_, index) => word(index))]
  const random = gaussian(seed)
  const tensors = tensorsOf(tokens, random)
  const pairs: (readonly [string, GgufValue])[] = [
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['general.name', { type: 'string', value: 'tiny' }],
    ['llama.context_length', { type: 'uint32', value: contextLength }],
    ['llama.embedding_length', { type: 'uint32', value: width }],
    ['llama.block_count', { type: 'uint32', value: layers }],
    ['llama.feed_forward_length', { type: 'uint32', value: hidden }],
    ['llama.attention.head_count', { type: 'uint32', value: heads }],
    ['llama.attention.head_count_kv', { type: 'uint32', value: heads }],
    ['llama.attention.layer_norm_rms_epsilon', { type: 'float32', value: 1e-5 }],
    ['llama.rope.dimension_count', { type: 'uint32', value: width / heads }],
    ['llama.vocab_size', { type: 'uint32', value: tokens.length }],
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'gpt-2' }],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: tokens.map((token) => (isControl(token) ? 3 : 1)) }],
    ['tokenizer.ggml.merges', { type: 'strings', value: merges.map((pair) => pair.join(' ')) }],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: 0 }],
    ['tokenizer.ggml.eos_token_id', { type: 'uint32', value: 2 }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
    ...(chatTemplate === undefined
      ? []
      : ([['tokenizer.chat_template', { type: 'string', value: chatTemplate }]] as const)),
  ]
  return encodeGguf(pairs, tensors)
}

function vocabulary(): string[] {
  return [...controlTokens, ...byteCharacters(), ...merges.map((pair) => pair.join(''))]
}

/** Words whose letters are in no other token. */
function word(index: number): string {
  const letters = index.toString(26).replaceAll(/./g, (digit) => String.fromCodePoint(97 + Number.parseInt(digit, 26)))
  return `Ġ${letters.padStart(4, 'a')}`
}

function isControl(token: string): boolean {
  return controlTokens.includes(token)
}

/** The printable character that represents each byte in GPT-2's vocabulary. */
function byteCharacters(): string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(printable ? byte : next++)
  })
}

interface Tensor {
  readonly name: string
  readonly dimensions: readonly number[]
  readonly data: Float32Array
}

function tensorsOf(tokens: readonly string[], random: () => number): Tensor[] {
  const weights = (name: string, columns: number, rows: number, scale = 1 / Math.sqrt(columns)): Tensor => ({
    name: `${name}.weight`,
    dimensions: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => random() * scale),
  })
  const ones = (name: string): Tensor => ({
    name: `${name}.weight`,
    dimensions: [width],
    data: new Float32Array(width).fill(1),
  })
  const output = weights('output', width, tokens.length, letterScale / Math.sqrt(width))
  for (const [index, token] of tokens.entries()) {
    if (!/^Ġ?[a-z]*$/.test(token)) output.data.fill(0, index * width, (index + 1) * width)
  }
  const blocks = Array.from({ length: layers }, (_, layer) => [
    ones(`blk.${layer}.attn_norm`),
    weights(`blk.${layer}.attn_q`, width, width),
    weights(`blk.${layer}.attn_k`, width, width),
    weights(`blk.${layer}.attn_v`, width, width),
    weights(`blk.${layer}.attn_output`, width, width),
    ones(`blk.${layer}.ffn_norm`),
    weights(`blk.${layer}.ffn_gate`, width, hidden),
    weights(`blk.${layer}.ffn_up`, width, hidden),
    weights(`blk.${layer}.ffn_down`, hidden, width),
  ])
  return [weights('token_embd', width, tokens.length, 1), ...blocks.flat(), ones('output_norm'), output]
}

type GgufValue =
  | { readonly type: 'uint32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'int32s'; readonly value: readonly number[] }

const typeCodes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 }
const alignment = 32

function encodeGguf(pairs: readonly (readonly [string, GgufValue])[], tensors: readonly Tensor[]): Buffer {
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(pairs.length)]
  const metadata = pairs.flatMap(([key, value]) => [text(key), encodeValue(value)])
  let offset = 0
  const infos = tensors.map((tensor) => {
    const info = [
      text(tensor.name),
      uint32(tensor.dimensions.length),
      ...tensor.dimensions.map(uint64),
      uint32(0),
      uint64(offset),
    ]
    offset += padded(tensor.data.byteLength)
    return Buffer.concat(info)
  })
  const before = Buffer.concat([...head, ...metadata, ...infos])
  const blobs = tensors.map(({ data }) => pad(Buffer.from(data.buffer, data.byteOffset, data.byteLength)))
  return Buffer.concat([pad(before), ...blobs])
}

function encodeValue(value: GgufValue): Buffer {
  switch (value.type) {
    case 'uint32':
      return Buffer.concat([uint32(typeCodes.uint32), uint32(value.value)])
    case 'float32': {
      const bytes = Buffer.alloc(4)
      bytes.writeFloatLE(value.value)
      return Buffer.concat([uint32(typeCodes.float32), bytes])
    }
    case 'bool':
      return Buffer.concat([uint32(typeCodes.bool), Buffer.from([value.value ? 1 : 0])])
    case 'string':
      return Buffer.concat([uint32(typeCodes.string), text(value.value)])
    case 'strings':
      return array(typeCodes.string, value.value.map(text))
    case 'int32s':
      return array(typeCodes.int32, value.value.map(uint32))
    default:
      throw new TypeError('not a GGUF value')
  }
}

function array(typeCode: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([uint32(typeCodes.array), uint32(typeCode), uint64(items.length), ...items])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function padded(length: number): number {
  return Math.ceil(length / alignment) * alignment
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])
}

/** Normally distributed numbers that repeat for the same seed, on every machine. */
function gaussian(seed: number): () => number {
  let state = seed >>> 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}
