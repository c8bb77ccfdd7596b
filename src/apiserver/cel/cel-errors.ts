/** Why a rule cannot be used, in Kubernetes' words. */
export class CelError extends Error {}

export function compilationFailed(source: string, error: unknown): CelError {
  const summary = property(error, 'summary')
  const start = Number(property(property(error, 'range'), 'start') ?? 0)
  const why = typeof summary === 'string' ? summary : error instanceof Error ? error.message : 'unknown'
  return failedAt(source, start, inKubernetesWords(why))
}

/** The library words the most common mistakes in its own way. */
function inKubernetesWords(summary: string): string {
  return summary
    .replace(/^No such key: (.*)$/, "undefined field '$1'")
    .replace(/^Unknown variable: (.*)$/, "undeclared reference to '$1' (in container '')")
    .replace(/^no such overload: (.+) (\S+) (.+)$/, "found no matching overload for '_$2_' applied to '($1, $3)'")
    .replace(
      /^found no matching overload for '(?:.*\.)?(\w+)\(.*\)'$/,
      "undeclared reference or no matching overload for '$1' (in container '')",
    )
}

export function failedAt(source: string, start: number, why: string): CelError {
  const lines = source.slice(0, start).split('\n')
  const column = lines.at(-1)?.length ?? 0
  const line = source.split('\n')[lines.length - 1] ?? ''
  const marked = ` | ${line.slice(0, 1000)}\n | ${'.'.repeat(Math.min(column, 1000))}^`
  return new CelError(`compilation failed: ERROR: <input>:${lines.length}:${column + 1}: ${why}\n${marked}`)
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
