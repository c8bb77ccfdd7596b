/** The environment variables that tell a process about its cards. A node marks cards that are only simulated. */
export interface CardEnvironment {
  CUDA_VISIBLE_DEVICES?: string | undefined
  SLUICE_SIMULATED_CARDS?: string | undefined
}

/** The cards that were given to this process; undefined when the environment says nothing about cards. */
export function cardsNamed({ CUDA_VISIBLE_DEVICES: named }: CardEnvironment): readonly string[] | undefined {
  return named?.split(',').filter((card) => card.trim() !== '' && card.trim() !== '-1')
}

/** Whether there may be a real card to compute on. A Pod without cards, or with simulated ones, stays on the CPU. */
export function mayUseGpu(environment: CardEnvironment): boolean {
  if (environment.SLUICE_SIMULATED_CARDS === 'true') return false
  return cardsNamed(environment)?.length !== 0
}
