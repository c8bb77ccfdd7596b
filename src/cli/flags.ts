import { parseArgs } from 'node:util'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Flag } from './command.ts'
import { didYouMean } from './suggestions.ts'

export interface ParsedFlags {
  readonly positionals: readonly string[]
  text(name: string): string | undefined
  /** A whole number within these bounds. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined
  /** A number within these bounds, which may be a fraction. */
  number(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined
  isSet(name: string): boolean
  /** Whether somebody gave it, instead of its default. */
  isGiven(name: string): boolean
}

/** Parses flags as they are declared. An undeclared flag is refused by name. */
export function parseFlags(flags: readonly Flag[], args: readonly string[]): ParsedFlags {
  const options = Object.fromEntries(
    flags.map(({ name, value, short }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
  const { values, positionals } = read()
  const text = (name: string): string | undefined => {
    const value = values[name] ?? flags.find((flag) => flag.name === name)?.fallback
    return typeof value === 'string' ? value : undefined
  }
  const number = (name: string, { min, max }: { readonly min: number; readonly max: number }): number | undefined => {
    const given = text(name)
    if (given === undefined) return undefined
    const value = given.trim() === '' ? Number.NaN : Number(given)
    if (Number.isFinite(value) && value >= min && value <= max) return value
    throw new SluiceError('invalid_flag', {
      flag: `--${name}`,
      reason: `"${given}" is not a number from ${min} to ${max}.`,
    })
  }
  return {
    positionals,
    text,
    number,
    integer(name, bounds) {
      const value = number(name, bounds)
      if (value === undefined || Number.isInteger(value)) return value
      throw new SluiceError('invalid_flag', { flag: `--${name}`, reason: `"${value}" is not a whole number.` })
    },
    isSet: (name) => values[name] === true,
    isGiven: (name) => values[name] !== undefined,
  }

  function read() {
    try {
      return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
    } catch (error) {
      const flag = /'(-[^ ']*)/.exec(errorMessage(error))?.[1] ?? 'flags'
      throw new SluiceError('invalid_flag', { flag, reason: whatIsWrong(error, flags) }, { cause: error })
    }
  }
}

function whatIsWrong(error: unknown, flags: readonly Flag[]): string {
  const reason = (errorMessage(error).split('. To specify')[0] ?? '').replace(/\.$/, '')
  const [, unknown] = /^Unknown option '--([^']*)'/.exec(reason) ?? []
  const meant =
    unknown === undefined
      ? ''
      : didYouMean(
          unknown,
          flags.map(({ name }) => name),
          (name) => `--${name}`,
        )
  return `${reason}.${meant} --help lists the flags.`
}

/** The one word that is not a flag; `reason` says what it has to be. */
export function onlyPositional({ positionals }: ParsedFlags, name: string, reason: string): string {
  const [only, ...more] = positionals
  if (only === undefined || more.length > 0) throw new SluiceError('invalid_flag', { flag: name, reason })
  return only
}
