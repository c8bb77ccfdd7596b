/**
 * Replaces `$(NAME)` by the variable's value, as Kubernetes does in command, args and env: a name that is not defined stays
 * as it is written, and `$$(NAME)` is a literal `$(NAME)`.
 */
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\$|\$\(([^()\s]+)\)/g, (written, name: string | undefined) => {
    if (name === undefined) return '$'
    return variables.get(name) ?? written
  })
}
