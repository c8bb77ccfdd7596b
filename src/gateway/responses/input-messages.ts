import {
  type Fields,
  fieldOf,
  invalidField,
  isFields,
  requiredText,
  setFields,
  unsupportedField,
} from './request-fields.ts'

/** More items than any conversation has. */
const mostItems = 10_000

/** A message of a chat completion. */
interface ChatMessage {
  readonly role: string
  content?: unknown
  tool_calls?: Fields[]
  readonly tool_call_id?: string
}

const stateless = 'nothing is stored here; send the items themselves in input'

/**
 * The messages of a chat completion that say the same as `instructions` and `input`. Reasoning of earlier answers is
 * left out: models are trained to get only the answers back.
 */
export function inputMessages(instructions: string | undefined, input: unknown): readonly ChatMessage[] {
  const messages: ChatMessage[] = []
  if (instructions !== undefined) messages.push({ role: 'system', content: instructions })
  if (typeof input === 'string') messages.push({ role: 'user', content: input })
  else if (Array.isArray(input)) addItems(messages, input)
  else throw invalidField('input', 'must be a string or a list of items')
  if (messages.length === 0) throw invalidField('input', 'has no items')
  return messages
}

function addItems(messages: ChatMessage[], items: readonly unknown[]): void {
  if (items.length > mostItems) throw invalidField('input', `has more than ${mostItems} items`)
  for (const [index, item] of items.entries()) {
    const param = `input[${index}]`
    if (!isFields(item)) throw invalidField(param, 'must be an object')
    addItem(messages, item, param)
  }
}

function addItem(messages: ChatMessage[], item: Fields, param: string): void {
  const type = fieldOf(item, 'type') ?? 'message'
  switch (type) {
    case 'message':
      return addMessage(messages, item, param)
    case 'function_call':
      return addCall(messages, item, param)
    case 'function_call_output': {
      const content = toContent(fieldOf(item, 'output'), `${param}.output`)
      messages.push({ role: 'tool', tool_call_id: requiredText(item, 'call_id', param), content })
      return
    }
    case 'reasoning':
      return
    case 'item_reference':
      throw unsupportedField(param, stateless)
    default:
      throw unsupportedField(
        param,
        `items of the type ${JSON.stringify(type)} are not known; there are message, function_call, function_call_output and reasoning`,
      )
  }
}

function addMessage(messages: ChatMessage[], item: Fields, param: string): void {
  const role = fieldOf(item, 'role')
  const content = toContent(fieldOf(item, 'content'), `${param}.content`)
  switch (role) {
    case 'user':
    case 'assistant':
      messages.push({ role, content })
      return
    case 'system':
    case 'developer': {
      // Many chat templates take one system message only, at the beginning.
      const first = messages.length === 1 ? messages[0] : undefined
      const joins = first?.role === 'system' && typeof first.content === 'string' && typeof content === 'string'
      if (joins) first.content = `${String(first.content)}\n\n${content}`
      else messages.push({ role: 'system', content })
      return
    }
    default:
      throw invalidField(`${param}.role`, 'must be user, assistant, system or developer')
  }
}

/** Calls that follow one another, or an answer's text, were one turn of the model. */
function addCall(messages: ChatMessage[], item: Fields, param: string): void {
  const called = { name: requiredText(item, 'name', param), arguments: requiredText(item, 'arguments', param) }
  const call = { id: requiredText(item, 'call_id', param), type: 'function', function: called }
  const last = messages.at(-1)
  if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call]
  else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
}

/** Plain text stays a string, because not every engine takes parts. */
function toContent(content: unknown, param: string): unknown {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidField(param, 'must be a string or a list of parts')
  const parts = content.map((part: unknown, index) => toPart(part, `${param}[${index}]`))
  const texts = parts.map((part) => part['text'])
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : parts
}

function toPart(part: unknown, param: string): Fields {
  if (!isFields(part)) throw invalidField(param, 'must be an object')
  const type = fieldOf(part, 'type')
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: requiredText(part, 'text', param) }
    case 'refusal':
      return { type: 'text', text: requiredText(part, 'refusal', param) }
    case 'input_image':
      if (fieldOf(part, 'file_id') !== undefined) {
        throw unsupportedField(`${param}.file_id`, 'no files are stored here; send the picture in image_url')
      }
      return {
        type: 'image_url',
        image_url: setFields({ url: requiredText(part, 'image_url', param), detail: fieldOf(part, 'detail') }),
      }
    case 'input_audio':
      return { type, input_audio: fieldOf(part, 'input_audio') }
    case 'input_file':
      throw unsupportedField(param, 'files are not read here; send their text as input_text')
    default:
      throw invalidField(`${param}.type`, 'must be input_text, output_text, input_image or input_audio')
  }
}
