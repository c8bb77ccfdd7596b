import type { Token as LibraryToken, Tokenizer } from 'node-llama-cpp'
import type { LoadedModel } from '../llama/native/loaded-model.ts'

const made = new WeakMap<LoadedModel, Tokenizer>()

/** A model's vocabulary in the form in which the library's chat templates use it. */
export function libraryTokenizer(model: LoadedModel): Tokenizer {
  const known = made.get(model)
  if (known) return known
  const tokenize = (text: string, special: boolean | 'builtin' = false, options?: 'trimLeadingSpace') => {
    if (special === 'builtin') return model.builtInToken(text).filter(isLibraryToken)
    const tokens = options === undefined ? model.tokenize(text, special) : model.tokenizeContinuation(text, special)
    return tokens.filter(isLibraryToken)
  }
  const tokenizer = Object.assign(tokenize, {
    detokenize: (tokens: readonly LibraryToken[], special?: boolean, preceding?: readonly LibraryToken[]) =>
      model.detokenize(tokens, special, preceding),
    isSpecialToken: (token: LibraryToken) => model.isSpecialToken(token),
    isEogToken: (token: LibraryToken) => model.isEndToken(token),
  })
  made.set(model, tokenizer)
  return tokenizer
}

/** The library marks its numbers of tokens by a type of their own. */
function isLibraryToken(token: number): token is LibraryToken {
  return token >= 0
}
