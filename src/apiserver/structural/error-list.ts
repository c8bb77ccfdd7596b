import { type FieldError, mostFaults } from '../../resources/field-error.ts'

/**
 * Faults as they are found. Past a bound no more are kept: nobody reads them, and an
 * answer must not grow with the body.
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
