/** Lets tests stop the program at every step of a copy. */
export interface WeightsSteps {
  readonly step?: ((name: string) => void) | undefined
}
