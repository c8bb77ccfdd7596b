import { type Exchange, type HttpFaceParts, requireName, requireTokens, sendJson } from './exchange.ts'
import { readJsonBody } from './json-body.ts'
import type { LanguageModel } from '../llama/language-model.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import { parseDetokenizeRequest, parseTokenizeRequest } from '../requests/token-requests.ts'

const tokensPerTurn = 4096

export async function answerTokenize({ state }: HttpFaceParts, { request, response, signal }: Exchange): Promise<void> {
  const model = state.requireModel()
  const { model: name, input, withTexts } = parseTokenizeRequest(await readJsonBody(request, signal))
  if (name !== undefined) requireName(state, name)
  const tokens =
    'messages' in input
      ? (await model.chatPrompt(input.messages, [], signal)).tokens
      : await model.tokenize(input.prompt, input.special, signal)
  const texts = withTexts ? await textsOf(model, tokens, signal) : null
  sendJson(response, 200, { count: tokens.length, max_model_len: model.contextLength, tokens, token_strs: texts })
}

export async function answerDetokenize(
  { state }: HttpFaceParts,
  { request, response, signal }: Exchange,
): Promise<void> {
  const model = state.requireModel()
  const { model: name, tokens } = parseDetokenizeRequest(await readJsonBody(request, signal))
  if (name !== undefined) requireName(state, name)
  requireTokens(tokens, model.vocabularySize, 'tokens')
  sendJson(response, 200, { prompt: model.tokenText(tokens) })
}

async function textsOf(model: LanguageModel, tokens: readonly number[], signal: AbortSignal): Promise<string[]> {
  const texts: string[] = []
  for (const token of tokens) {
    texts.push(model.tokenText([token]))
    if (texts.length % tokensPerTurn === 0) await nextTurn(signal)
  }
  return texts
}
