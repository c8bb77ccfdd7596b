/**
 * A program that was ended before it was done. That says nothing of what the machine permits, but that it was too busy,
 * so it is worth another attempt.
 */
export class CutOffError extends Error {
  override readonly name = 'CutOffError'
}
