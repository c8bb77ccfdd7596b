import { SluiceError } from '../../foundation/errors.ts'
import type { Card } from './card.ts'
import { readNvidiaCards } from './nvidia-cards.ts'
import type { RunProgram } from '../processes/run-program.ts'

const kindPattern = /^[a-z0-9.-]+\.com\/gpu-[a-z0-9-]+$/
const mostCards = 64
const defaultCards = 'nvidia.com/gpu-l40s=2'

/** The cards declared by `--gpus KIND=COUNT,...`, so many on each node; without the flag, a small simulated set. */
export function declaredCards(flag: string | undefined, nodes = 1): Card[] {
  const counts = new Map<string, number>()
  for (const part of (flag ?? defaultCards).split(',').map((text) => text.trim())) {
    // `--gpus ''` means no cards at all.
    if (part === '' && flag?.trim() === '') continue
    const [kind = '', count = '', ...rest] = part.split('=')
    if (!kindPattern.test(kind)) {
      throw invalidGpus(`"${kind}" is not of the form <vendor>.com/gpu-<model>, such as nvidia.com/gpu-l40s`)
    }
    if (!/^\d{1,2}$/.test(count) || rest.length > 0 || Number(count) > mostCards) {
      throw invalidGpus(`"${part}" must be KIND=COUNT with a count from 0 to ${mostCards}`)
    }
    if (counts.has(kind)) throw invalidGpus(`${kind} is given twice`)
    counts.set(kind, Number(count))
  }
  const kinds = [...counts].flatMap(([kind, count]) => Array.from({ length: count * nodes }, () => kind))
  return kinds.map((kind, index) => ({ kind, index, simulated: true }))
}

export interface CardDetection {
  readonly run: RunProgram
  readonly signal: AbortSignal
  /** Called for cards that exist but cannot be used. */
  problem?(message: string): void
}

/**
 * The machine's cards: those declared by `--gpus`, else the real ones, else a small simulated set. The cards of several
 * nodes are always declared: a real one cannot be in two.
 */
export async function detectCards(flag: string | undefined, nodes: number, detection: CardDetection): Promise<Card[]> {
  if (flag !== undefined || nodes > 1) return declaredCards(flag, nodes)
  const { cards, problems } = await readNvidiaCards(detection.run, detection.signal)
  for (const problem of problems) detection.problem?.(problem)
  return cards.length > 0 ? [...cards] : declaredCards(undefined)
}

function invalidGpus(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: '--gpus', reason })
}
