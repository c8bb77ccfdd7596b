import type { Token } from '../llama/native/loaded-model.ts'
import type { ChatTemplate } from './chat-template.ts'

/**
 * What a template writes before the first word of a user, when nobody gives instructions of their own. Some templates
 * write instructions there, which are most of a short prompt.
 */
export async function sharedOpening(
  template: ChatTemplate,
  most: number,
  signal: AbortSignal,
): Promise<readonly Token[]> {
  const tokensOf = async (content: string) => {
    const { tokens } = await template.render([{ role: 'user', content }], [], most, signal)
    return tokens
  }
  try {
    const [one, other] = [await tokensOf('a'), await tokensOf('b')]
    const end = one.findIndex((token, index) => token !== other[index])
    return one.slice(0, end === -1 ? 0 : end)
  } catch {
    signal.throwIfAborted()
    // There is no template, or one that wants more than a question.
    return []
  }
}
