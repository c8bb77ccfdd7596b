import { ContainerRefused } from '../pod-runtime.ts'

/**
 * Replaces `$(NAME)` by the variable's value, as Kubernetes does in command, args and env: a name that is not defined
 * stays as it is written, and `$$(NAME)` is a literal `$(NAME)`.
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

/** What Linux takes as one argument or one variable. */
export const longestWord = 128 * 2 ** 10 - 1
/** What it takes as all of them together, with the usual limit of the stack. */
const longestCommand = 2 * 2 ** 20
const pointerBytes = 8

/**
 * Refuses what no program can be told. Said here: the kernel only says that something is too long (E2BIG), and inside
 * of namespaces nobody would hear it.
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

/** Takes one word after the other of what a program is to be told, for as long as it could still be told them. */
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
