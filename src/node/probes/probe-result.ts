/** The result of probing once. */
export type ProbeResult =
  /** With a `warning` it counts as a success, but is reported. */
  { readonly ok: true; readonly warning?: string } | { readonly ok: false; readonly message: string }
