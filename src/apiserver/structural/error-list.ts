import { type FieldError, mostFaults } from '../../resources/field-error.ts'

/**
 * Collects errors as they are found. Beyond a bound they are dropped: nobody reads them, and the answer must not grow
 * with the body.
 */
export class ErrorList {
  readonly #errors: FieldError[] = []

  get all(): readonly FieldError[] {
    return this.#errors
  }

  get isFull(): boolean {
    return this.#errors.length >= mostFaults
  }

  add(...errors: readonly FieldError[]): void {
    for (const error of errors) if (!this.isFull) this.#errors.push(error)
  }
}
