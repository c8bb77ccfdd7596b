/** What a process was told about its cards. A node marks those that are only declared. */
export interface CardEnvironment {
  CUDA_VISIBLE_DEVICES?: string | undefined
  SLUICE_SIMULATED_CARDS?: string | undefined
}

/** Which cards were handed over; undefined when nobody said anything about cards. */
export function cardsNamed({ CUDA_VISIBLE_DEVICES: named }: CardEnvironment): readonly string[] | undefined {
  return named?.split(',').filter((card) => card.trim() !== '' && card.trim() !== '-1')
}

/** Whether there may be a real card to compute on: a Pod without cards, or with simulated ones, stays on the CPU. */
export function mayUseGpu(environment: CardEnvironment): boolean {
  if (environment.SLUICE_SIMULATED_CARDS === 'true') return false
  return cardsNamed(environment)?.length !== 0
}
