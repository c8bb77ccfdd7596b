/** A function that the client offers to the model. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string | undefined
  /** The JSON schema of the arguments; undefined when the function takes none. */
  readonly parameters: unknown
}

export type ToolChoice =
  | { readonly type: 'none' | 'auto' | 'required' }
  | { readonly type: 'function'; readonly name: string }
