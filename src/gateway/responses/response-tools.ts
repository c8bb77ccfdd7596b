import {
  type Fields,
  fieldOf,
  invalidField,
  isFields,
  requiredText,
  setFields,
  unsupportedField,
} from './request-fields.ts'

const mostTools = 1_024

/** `tools` and `tool_choice` of a chat completion. */
export interface ChatTools {
  readonly tools?: readonly Fields[]
  readonly tool_choice?: unknown
}

/** The same functions and choice as a chat completion has them. Tools that OpenAI runs itself are refused by name. */
export function chatTools(tools: unknown, choice: unknown): ChatTools {
  const functions = functionTools(tools)
  if (functions.length === 0) return {}
  const chosen = chosenTools(functions, choice)
  return {
    tools: chosen.functions.map((tool) => ({ type: 'function', function: tool })),
    ...(chosen.choice === undefined ? {} : { tool_choice: chosen.choice }),
  }
}

function functionTools(tools: unknown): readonly Fields[] {
  if (tools === undefined) return []
  if (!Array.isArray(tools) || tools.length > mostTools) {
    throw invalidField('tools', `must be a list of at most ${mostTools} tools`)
  }
  return tools.map((tool: unknown, index) => {
    const param = `tools[${index}]`
    if (!isFields(tool)) throw invalidField(param, 'must be an object')
    const type = fieldOf(tool, 'type')
    if (type !== 'function') {
      const reason = `there are no built-in tools here, such as ${JSON.stringify(type)}; offer a tool of the type "function" and run it yourself`
      throw unsupportedField(param, reason)
    }
    return setFields({
      name: requiredText(tool, 'name', param),
      description: fieldOf(tool, 'description'),
      parameters: fieldOf(tool, 'parameters'),
      strict: fieldOf(tool, 'strict'),
    })
  })
}

function chosenTools(
  functions: readonly Fields[],
  choice: unknown,
): { functions: readonly Fields[]; choice?: unknown } {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') {
    return { functions, choice }
  }
  const type = isFields(choice) ? fieldOf(choice, 'type') : undefined
  if (isFields(choice) && type === 'function') {
    return { functions, choice: { type, function: { name: requiredText(choice, 'name', 'tool_choice') } } }
  }
  if (isFields(choice) && type === 'allowed_tools') {
    const allowed = fieldOf(choice, 'tools')
    if (!Array.isArray(allowed)) throw invalidField('tool_choice.tools', 'must be a list')
    const names = new Set(allowed.map((tool: unknown) => (isFields(tool) ? fieldOf(tool, 'name') : undefined)))
    const left = functions.filter(({ name }) => names.has(name))
    if (left.length === 0) throw invalidField('tool_choice.tools', 'names none of the tools')
    return { functions: left, choice: fieldOf(choice, 'mode') ?? 'auto' }
  }
  throw invalidField('tool_choice', 'must be auto, none, required, a function or allowed_tools')
}
