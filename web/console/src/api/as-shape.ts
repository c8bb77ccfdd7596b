/** What the server sends has the shapes of `console-shapes.ts`: the page and the server come from one build. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it says what is expected
export function asShape<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checking each field would only repeat that
  return value as T
}
