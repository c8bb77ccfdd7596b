import { describe, expect, it } from 'vitest'
import { podSchema } from '../../resources/pod.ts'
import { CardLedger } from './card-ledger.ts'
import { declaredCards } from './gpu-inventory.ts'

const l40s = 'nvidia.com/gpu-l40s'
const h800 = 'nvidia.com/gpu-h800'

function pod(
  uid: string,
  containers: Record<string, Record<string, string>>,
  init: Record<string, Record<string, string>> = {},
) {
  const list = (from: typeof containers) =>
    Object.entries(from).map(([name, limits]) => ({ name, resources: { limits } }))
  const spec = { containers: list(containers), initContainers: list(init) }
  return podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: uid, uid }, spec })
}

describe('declaredCards', () => {
  it('numbers the cards over all kinds', () => {
    expect(declaredCards(`${l40s}=1, ${h800}=2`)).toEqual([
      { kind: l40s, index: 0, simulated: true },
      { kind: h800, index: 1, simulated: true },
      { kind: h800, index: 2, simulated: true },
    ])
  })

  it('declares them for every node', () => {
    expect(declaredCards(`${h800}=8`, 2)).toHaveLength(16)
  })

  it.each([
    [undefined, 2],
    ['', 0],
    [`${l40s}=0`, 0],
    [`${l40s}=64`, 64],
  ])('%j declares %i', (flag, count) => {
    expect(declaredCards(flag)).toHaveLength(count)
  })

  it.each([
    'gpu=1',
    l40s,
    `${l40s}=65`,
    `${l40s}=-1`,
    `${l40s}=1.5`,
    `${l40s}=1,${l40s}=2`,
    `${l40s}=1,`,
    'NVIDIA.com/gpu-x=1',
    `${l40s}=1=2`,
  ])('refuses %j', (flag) => {
    expect(() => declaredCards(flag)).toThrow('--gpus')
  })
})

describe('CardLedger', () => {
  const cards = declaredCards(`${l40s}=2,${h800}=1`)

  it('gives cards by kind, the same again to the same Pod, and never twice', () => {
    const ledger = new CardLedger(cards)
    const one = pod('one', { a: { [l40s]: '1' }, b: { [h800]: '1' } })
    expect(ledger.take(one)).toEqual(
      new Map([
        ['a', [0]],
        ['b', [2]],
      ]),
    )
    expect(ledger.take(one)).toEqual(
      new Map([
        ['a', [0]],
        ['b', [2]],
      ]),
    )
    expect(ledger.take(pod('two', { a: { [l40s]: '1' } }))).toEqual(new Map([['a', [1]]]))
    expect(ledger.take(pod('three', { a: { [l40s]: '1' } }))).toEqual({ missing: `waiting for 1 × ${l40s}: 0 free` })
    expect(ledger.heldCount).toBe(3)
    ledger.release('one')
    expect(ledger.take(pod('three', { a: { [l40s]: '1' } }))).toEqual(new Map([['a', [0]]]))
  })

  it('takes nothing when it cannot give everything', () => {
    const ledger = new CardLedger(cards)
    expect(ledger.take(pod('big', { a: { [l40s]: '2' }, b: { [l40s]: '1' } }))).toHaveProperty('missing')
    expect(ledger.heldCount).toBe(0)
  })

  it('remembers what an adopted container has', () => {
    const ledger = new CardLedger(cards)
    ledger.remember('adopted', 'main', [0])
    expect(ledger.take(pod('new', { a: { [l40s]: '1' } }))).toEqual(new Map([['a', [1]]]))
    expect(ledger.take(pod('adopted', { main: { [l40s]: '1' } }))).toEqual(new Map([['main', [0]]]))
  })

  it('lets init containers use the cards of the others', () => {
    const ledger = new CardLedger(cards)
    const granted = ledger.take(pod('p', { a: { [l40s]: '2' } }, { i: { [l40s]: '1' } }))
    expect(granted).toEqual(
      new Map([
        ['a', [0, 1]],
        ['i', [0]],
      ]),
    )
  })
})
