/** For the default of an exhaustive switch: the compiler reports an error when a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`)
}
