export type ErrorDetails = Readonly<Record<string, string | number | boolean | undefined>>

interface CatalogEntry {
  /** HTTP status at the faces that speak HTTP. */
  readonly status: number
  /** What the user reads: what happened and what to do. `{name}` is filled from the error's details. */
  readonly message: string
}

/** Every error code of the program. docs/errors.md lists the same codes; a test holds the two together. */
export const errorCatalog = {
  stopping: { status: 503, message: 'Sluice is stopping; try again in a moment.' },
  lifecycle_deadline: { status: 500, message: '{component} did not {phase} within {seconds} s.' },
  internal_error: {
    status: 500,
    message: 'Something went wrong inside Sluice. The log has the details under this request id.',
  },
} as const satisfies Record<string, CatalogEntry>

export type ErrorCode = keyof typeof errorCatalog
