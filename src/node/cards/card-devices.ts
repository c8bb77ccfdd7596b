import type { Card } from './card.ts'

/** Which of the machine's devices a container with cards finds, and what it is to call its cards. */
export interface CardDevices {
  /** Names in `/dev`. */
  readonly names: readonly string[]
  /** What `CUDA_VISIBLE_DEVICES` is there. */
  readonly visible: string
  /**
   * What `NVIDIA_VISIBLE_DEVICES` is, by which it can tell its cards from those that others have by the same numbers.
   */
  readonly ids?: string
}

/** What all cards of NVIDIA's are reached by, besides their own. */
const sharedByNvidia = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset']
const anyCard = /^(?:nvidia.*|dri|kfd)$/
const nvidiaKind = /^nvidia\.com\//

/**
 * Of the devices that are `present`, those of its own cards. The driver numbers the cards that a process can open, from
 * 0 on and by their place on the bus: where a container finds only its own, they have other numbers than on the
 * machine. Where it is not known which device is which card's, all are there, and numbers are those of the machine.
 */
export function cardDevices(cards: readonly Card[], present: readonly string[]): CardDevices {
  const ofMachine = cards.map(({ index }) => index).join(',')
  if (cards.length === 0) return { names: [], visible: '' }
  const minors = cards.flatMap(({ kind, minor }) => (nvidiaKind.test(kind) && minor !== undefined ? [minor] : []))
  if (minors.length < cards.length) return { names: present.filter((name) => anyCard.test(name)), visible: ofMachine }
  const own = new Set([...sharedByNvidia, ...minors.map((minor) => `nvidia${minor}`)])
  return {
    names: present.filter((name) => own.has(name)),
    visible: [...cards.keys()].join(','),
    ids: cards.map(({ uuid = '' }) => uuid).join(','),
  }
}
