/** What one look by a probe found. */
export type ProbeResult =
  /** `warning`: it counts as a success, but somebody should know. */
  { readonly ok: true; readonly warning?: string } | { readonly ok: false; readonly message: string }
