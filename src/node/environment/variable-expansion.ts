import { ContainerRefused } from '../pod-runtime.ts'

/**
 * Replaces `$(NAME)` as Kubernetes does in command, args and env: unknown names stay as they are, and `$$(NAME)` gives
 * a literal `$(NAME)`.
 */
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  if (!text.includes('$')) return text
  let added = 0
  return text.replaceAll(/\$\$|\$\(([^()\s]+)\)/g, (written, name: string | undefined) => {
    if (name === undefined) return '$'
    const value = variables.get(name) ?? written
    added += value.length
    if (added > longestWord) throw tooLong(`"${text.slice(0, 60)}" with its variables filled in`)
    return value
  })
}

/** The longest single argument or variable that Linux takes. */
export const longestWord = 128 * 2 ** 10 - 1
/** The most that Linux takes for all of them together, with the usual stack limit. */
const longestCommand = 2 * 2 ** 20
const pointerBytes = 8

/**
 * Refuses a command or environment that is too long for the kernel. Checked here, because the kernel's E2BIG says
 * little, and inside namespaces nobody would see it.
 */
export function requireTellable(words: readonly string[], env: Readonly<Record<string, string>>): void {
  let total = 0
  for (const [index, word] of words.entries()) total += required(word, `the argument ${index} of its command`)
  for (const [name, value] of Object.entries(env)) total += required(`${name}=${value}`, `the variable ${name}`)
  if (total <= longestCommand) return
  const message =
    `argument list too long: its command and ${Object.keys(env).length} variables have ${total} bytes, and Linux takes ` +
    `${longestCommand}. Mount large ConfigMaps as volumes, and set enableServiceLinks: false where there are many Services.`
  throw new ContainerRefused('RunContainerError', message)
}

/** Returns a function that counts words and throws once they no longer fit into one command. */
export function commandRoom(): (word: string) => string {
  let total = 0
  return (word) => {
    total += word.length
    if (word.length > longestWord) throw tooLong(`"${word.slice(0, 60)}..."`)
    if (total > longestCommand) {
      throw new ContainerRefused(
        'RunContainerError',
        `argument list too long: its command or its variables have more than the ${longestCommand} bytes that Linux takes.`,
      )
    }
    return word
  }
}

function required(text: string, what: string): number {
  const bytes = Buffer.byteLength(text)
  if (bytes > longestWord) throw tooLong(what)
  return bytes + 1 + pointerBytes
}

function tooLong(what: string): ContainerRefused {
  const message = `argument list too long: ${what} is longer than the ${longestWord} bytes that Linux takes. Mount it as a file.`
  return new ContainerRefused('RunContainerError', message)
}
