import { describe, expect, it } from 'vitest'
import type { CatalogModel } from '../../traffic/model-catalog.ts'
import { wakeComment } from './wake-feedback.ts'

const model = (phase: CatalogModel['phase'], message?: string): CatalogModel => ({
  name: 'tiny',
  owner: undefined,
  createdAtMs: 0,
  phase,
  message,
})

describe('wakeComment', () => {
  it.each([
    [undefined, 2_000, 'waking tiny: Asleep, 2 s'],
    [model('Waking'), 2_999, 'waking tiny: Waking, 2 s'],
    [model('Waking', 'A Pod is being created.'), 61_000, 'waking tiny: Waking, A Pod is being created, 61 s'],
    [model('Asleep', 'Asleep; a request wakes it.'), 0, 'waking tiny: Asleep; a request wakes it, 0 s'],
  ])('says how far the model is', (known, waitedMs, comment) => {
    expect(wakeComment('tiny', known, waitedMs)).toBe(comment)
  })

  it('says why a model that sleeps is not woken, until it wakes', () => {
    const obstacle = 'no controller listens'
    const asleep = model('Asleep', 'Asleep; a request wakes it.')
    expect(wakeComment('tiny', asleep, 1_000, obstacle)).toBe('waking tiny: Asleep, no controller listens, 1 s')
    const waking = model('Waking', 'A Pod is being created.')
    expect(wakeComment('tiny', waking, 2_000, obstacle)).toBe('waking tiny: Waking, A Pod is being created, 2 s')
  })
})
