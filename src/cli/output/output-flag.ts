import { SluiceError } from '../../foundation/errors.ts'
import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'
import { didYouMean } from '../suggestions.ts'

/** As kubectl has them: everything for programs, more columns, or names only. */
export const outputForms = ['json', 'yaml', 'wide', 'name'] as const
export type OutputForm = (typeof outputForms)[number]

/** Of every command that prints a list or an object. */
export const outputFlag: Flag = {
  name: 'output',
  short: 'o',
  value: 'FORM',
  help: 'json or yaml: everything, for programs; wide: more columns; name: names only',
  choices: outputForms,
}

/** The form that was asked for; undefined for the usual one. */
export function outputForm(parsed: ParsedFlags): OutputForm | undefined {
  const asked = parsed.text('output')
  if (asked === undefined) return undefined
  const form = outputForms.find((one) => one === asked)
  if (form !== undefined) return form
  const reason = `"${asked}" is not known; ${outputForms.join(', ')} are.${didYouMean(asked, outputForms)}`
  throw new SluiceError('invalid_flag', { flag: '--output', reason })
}
