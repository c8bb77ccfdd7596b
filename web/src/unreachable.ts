/** For the default of an exhaustive switch: the compiler refuses it as soon as a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`)
}
