import { answerRequest } from '../requests/answer-request.ts'
import { chatAnswer, textAnswer } from '../answers/answer-shapes.ts'
import { parseChatRequest } from '../requests/chat-request.ts'
import { parseEmbeddingRequest } from '../requests/embedding-request.ts'
import { sendJsonList } from '../grammar/json-list.ts'
import { type Exchange, type HttpFaceParts, requireName, requireTokens } from './exchange.ts'
import { tellIgnored } from './ignored-parameters.ts'
import { readJsonBody } from './json-body.ts'
import type { LanguageModel, Prompt } from '../llama/language-model.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import { type TextInput, parseTextRequest } from '../requests/text-request.ts'

/** A plain completion is short unless the request says otherwise, as in vLLM. */
const completionMaxTokens = 16

export async function answerChat({ state, clock }: HttpFaceParts, exchange: Exchange): Promise<void> {
  const model = state.requireModel()
  const body = await readJsonBody(exchange.request, exchange.signal, model.contextLength)
  tellIgnored('chat', body, exchange)
  const request = parseChatRequest(body)
  requireName(state, request.model)
  const { messages, tools: definitions, toolChoice: choice, parallelToolCalls: parallel } = request
  const prompts = [{ prompt: await model.chatPrompt(messages, definitions, exchange.signal), echo: '' }]
  // Refuse schemas that cannot be enforced before anything is generated.
  for (const [index, { parameters: schema }] of definitions.entries()) {
    const param = `tools[${index}].function.parameters`
    if (schema === undefined) continue
    await model.constrain({ type: 'json_schema', schema, param })
    await nextTurn(exchange.signal)
  }
  const tools = definitions.length > 0 ? { definitions, choice, parallel } : undefined
  const { record, response, signal } = exchange
  const shape = chatAnswer
  const answering = { model, request, prompts, tools, shape, defaultMaxTokens: undefined, clock, record }
  await answerRequest(answering, response, signal)
}

export async function answerText({ state, clock }: HttpFaceParts, exchange: Exchange): Promise<void> {
  const model = state.requireModel()
  const body = await readJsonBody(exchange.request, exchange.signal)
  tellIgnored('completion', body, exchange)
  const request = parseTextRequest(body)
  requireName(state, request.model)
  const prompts: { prompt: Prompt; echo: string }[] = []
  for (const input of request.prompts) {
    const prompt = await promptOf(model, input, exchange.signal)
    const echo = request.echo ? (typeof input === 'string' ? input : model.tokenText(input)) : ''
    prompts.push({ prompt, echo })
    await nextTurn(exchange.signal)
  }
  const { record, response, signal } = exchange
  const answering = { model, request, prompts, shape: textAnswer, defaultMaxTokens: completionMaxTokens, clock, record }
  await answerRequest(answering, response, signal)
}

export async function answerEmbeddings({ state }: HttpFaceParts, exchange: Exchange): Promise<void> {
  const model = state.requireModel()
  const body = await readJsonBody(exchange.request, exchange.signal)
  tellIgnored('embedding', body, exchange)
  const { model: name, inputs, encoding } = parseEmbeddingRequest(body)
  requireName(state, name)
  for (const input of inputs) if (typeof input !== 'string') requireTokens(input, model.vocabularySize, 'input')
  const { vectors, promptTokens } = await model.embed(inputs, exchange.signal)
  exchange.record.promptTokens = promptTokens
  const items = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: encoding === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector,
  }))
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  await sendJsonList({ object: 'list', data: items, model: name, usage }, exchange.response, exchange.signal)
}

function promptOf(model: LanguageModel, input: TextInput, signal: AbortSignal): Prompt | Promise<Prompt> {
  if (typeof input === 'string') return model.textPrompt(input, signal)
  requireTokens(input, model.vocabularySize, 'prompt')
  return model.tokenPrompt(input)
}
