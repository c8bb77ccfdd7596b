/** The Models of the bench: the first is what every gateway serves, the others are for the row with a thousand. */
export const modelName = (index: number): string => (index === 0 ? 'bench' : `bench-${index}`)

/** Each Model's Pod has its own address, as in a cluster; on this machine they all reach the stub. */
export const modelAddress = (index: number): string =>
  index === 0 ? '127.0.0.1' : `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`

export const manyModels = 1_000
