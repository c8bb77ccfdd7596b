import { type Exchange, type HttpFaceParts, requireName, requireTokens, sendJson } from './exchange.ts'
import { readJsonBody } from './json-body.ts'
import { parseDetokenizeRequest, parseTokenizeRequest } from './token-requests.ts'

export async function answerTokenize({ state }: HttpFaceParts, { request, response }: Exchange): Promise<void> {
  const model = state.requireModel()
  const { model: name, input, withTexts } = parseTokenizeRequest(await readJsonBody(request))
  if (name !== undefined) requireName(state, name)
  const { tokens } =
    'messages' in input ? model.chatPrompt(input.messages) : model.textPrompt(input.prompt, input.special)
  const texts = withTexts ? tokens.map((token) => model.tokenText([token])) : null
  sendJson(response, 200, { count: tokens.length, max_model_len: model.contextLength, tokens, token_strs: texts })
}

export async function answerDetokenize({ state }: HttpFaceParts, { request, response }: Exchange): Promise<void> {
  const model = state.requireModel()
  const { model: name, tokens } = parseDetokenizeRequest(await readJsonBody(request))
  if (name !== undefined) requireName(state, name)
  requireTokens(tokens, model.vocabularySize, 'tokens')
  sendJson(response, 200, { prompt: model.tokenText(tokens) })
}
