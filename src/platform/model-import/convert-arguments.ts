import type { NoteTaker } from './import-note.ts'

/** What the operator says itself: a second value would win, and the gateway would not find the engine. */
const operatorFlags = ['--model', '--served-model-name', '--host', '--port', '--api-key']

/** The arguments that our engine takes as well. */
export function convertArguments(args: readonly string[], notes: NoteTaker): string[] {
  const kept: string[] = []
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    const flag = operatorFlags.find((name) => argument === name || argument.startsWith(`${name}=`))
    if (flag === undefined) {
      kept.push(argument)
      continue
    }
    notes.leftOut('spec.args', `${flag} is set by Sluice.`)
    const hasOwnValue = argument === flag && !(args[index + 1] ?? '--').startsWith('--')
    if (hasOwnValue) index += 1
  }
  return kept
}
