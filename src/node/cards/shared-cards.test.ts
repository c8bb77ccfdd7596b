import { describe, expect, it } from 'vitest'
import { podSchema } from '../../resources/pod.ts'
import { CardLedger } from './card-ledger.ts'
import { declaredCards } from './gpu-inventory.ts'
import { MachineCards } from './machine-cards.ts'

const kind = 'nvidia.com/gpu-l40s'

function pod(uid: string, count: number, initCount = 0) {
  const withCards = (name: string, cards: number) => ({ name, resources: { limits: { [kind]: String(cards) } } })
  const inits = initCount > 0 ? [withCards('init', initCount)] : []
  const spec = { containers: [withCards('main', count)], initContainers: inits }
  return podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: uid, uid }, spec })
}

describe('cards that two clusters share', () => {
  const stage = () => {
    const machine = new MachineCards(declaredCards(`${kind}=3`))
    return { machine, home: new CardLedger(machine), other: new CardLedger(machine, () => 2) }
  }

  it('has no card in two hands, whatever cluster they are of', () => {
    const { home, other } = stage()
    expect(other.take(pod('a', 2))).toEqual(new Map([['main', [0, 1]]]))
    expect(home.take(pod('b', 1))).toEqual(new Map([['main', [2]]]))
    expect(home.take(pod('c', 1))).toEqual({ missing: `waiting for 1 × ${kind}: 0 free` })
    other.release('a')
    expect(home.take(pod('c', 1))).toEqual(new Map([['main', [0]]]))
  })

  it('gives a cluster no more than its share, though others are free', () => {
    const { other } = stage()
    other.take(pod('a', 1))
    expect(other.take(pod('b', 2))).toEqual({ missing: `waiting for 2 × ${kind}: 1 free` })
    expect(other.share).toHaveLength(2)
  })

  it('can place Pods on what no other cluster has, and tells of each change', () => {
    const { machine, home, other } = stage()
    let told = 0
    machine.onChange(() => (told += 1))
    expect([home.allocatable, other.allocatable]).toEqual([{ [kind]: 3 }, { [kind]: 2 }])
    home.take(pod('a', 2))
    expect([home.allocatable, other.allocatable]).toEqual([{ [kind]: 3 }, { [kind]: 1 }])
    home.release('a')
    expect(other.allocatable).toEqual({ [kind]: 2 })
    // Who asks again for what it has changes nothing.
    other.take(pod('b', 1))
    other.take(pod('b', 1))
    expect(told).toBe(3)
  })

  it('does not count a card that does not answer among those that can be had', () => {
    const { home } = stage()
    home.setLost(new Set([1]))
    expect(home.allocatable).toEqual({ [kind]: 2 })
    expect(home.lost.map(({ index }) => index)).toEqual([1])
    expect(home.share).toHaveLength(3)
  })
})

describe('what a Pod can never have', () => {
  const ledger = () => new CardLedger(declaredCards(`${kind}=2`))

  it.each([
    ['as many as there are', pod('a', 2), undefined],
    ['more than there are', pod('a', 3), `the Pod asks for 3 × ${kind}, and there are 2`],
    ['more for its init container', pod('a', 1, 3), `the Pod asks for 3 × ${kind}, and there are 2`],
    ['none', pod('a', 0), undefined],
  ])('%s', (_what, asked, message) => {
    expect(ledger().lackOf(asked)?.message).toBe(message)
  })

  it('is a card that it had and that is not there any more', () => {
    const cards = ledger()
    cards.remember('a', 'main', [0, 7])
    expect(cards.lackOf(pod('a', 2))).toEqual({
      kind,
      message: 'the cards 7 that the Pod had do not exist any more',
    })
    expect(cards.heldCount).toBe(1)
    cards.release('a')
    expect(cards.take(pod('b', 2))).toEqual(new Map([['main', [0, 1]]]))
  })

  it('is not what it has, though the share is smaller now', () => {
    let limit = 2
    const cards = new CardLedger(declaredCards(`${kind}=2`), () => limit)
    cards.take(pod('a', 2))
    limit = 1
    expect(cards.lackOf(pod('a', 2))).toBeUndefined()
    expect(cards.lackOf(pod('b', 2))?.message).toContain('and there is 1')
  })
})
