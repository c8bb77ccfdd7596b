/** The names of the bench's Models. Every gateway serves the first; the others are for the row with a thousand. */
export const modelName = (index: number): string => (index === 0 ? 'bench' : `bench-${index}`)

/** The address of a Model's Pod. Each has its own, as in a cluster; on this machine all of them reach the stub. */
export const modelAddress = (index: number): string =>
  index === 0 ? '127.0.0.1' : `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`

export const manyModels = 1_000
