import type { Card } from './card.ts'

/** What a container with cards gets: the device files, and the names it has to use for its cards. */
export interface CardDevices {
  /** Device files, by their names in `/dev`. */
  readonly names: readonly string[]
  /** The value of `CUDA_VISIBLE_DEVICES` in the container. */
  readonly visible: string
  /** The value of `NVIDIA_VISIBLE_DEVICES`: UUIDs, since two containers may each call their own card number 0. */
  readonly ids?: string
}

/** Device files that every NVIDIA card needs besides its own. */
const sharedByNvidia = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset']
const anyCard = /^(?:nvidia.*|dri|kfd)$/
const nvidiaKind = /^nvidia\.com\//

/**
 * Picks the devices of these cards from those `present` in `/dev`. The driver numbers only the cards a process can
 * open, from 0 and in bus order, so a container that sees only its own cards must use other numbers than the machine.
 * Where it is unknown which device belongs to which card, the container gets all devices and the machine's numbers.
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
