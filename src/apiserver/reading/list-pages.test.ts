import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'

type Write = { readonly verb: 'create' | 'delete' | 'change'; readonly name: string }

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
const write: fc.Arbitrary<Write> = fc.record({ verb: fc.constantFrom('create', 'delete', 'change'), name })

async function apply(api: ClusterApi, { verb, name: target }: Write): Promise<void> {
  const ref = { namespace: 'demo', name: target }
  const exists = api.find(configMapKind, ref) !== undefined
  if (verb === 'create' && !exists) await api.create(configMapKind, 'demo', { metadata: { name: target } })
  if (verb === 'delete' && exists) await api.delete(configMapKind, ref)
  if (verb === 'change' && exists) {
    await api.patch(configMapKind, ref, (current) => ({ ...current, data: { at: String(api.revision) } }))
  }
}

describe('a list in pages', () => {
  it('shows what was there at its beginning, whatever is written in between', async () => {
    const property = fc.asyncProperty(
      fc.array(write, { maxLength: 20 }),
      fc.array(fc.array(write, { maxLength: 4 }), { maxLength: 10 }),
      fc.integer({ min: 1, max: 4 }),
      async (before, between, limit) => {
        const api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: new FakeClock() })
        await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
        for (const one of before) await apply(api, one)
        const whole = api.list(configMapKind, { namespace: 'demo' })
        let page = api.list(configMapKind, { namespace: 'demo', limit })
        const seen = [...page.items]
        for (let turn = 0; page.continueToken !== undefined; turn++) {
          expect(page.items).toHaveLength(limit)
          expect(page.remaining).toBe(whole.items.length - seen.length)
          for (const one of between[turn] ?? []) await apply(api, one)
          page = api.list(configMapKind, { namespace: 'demo', limit, continueToken: page.continueToken })
          expect(page.resourceVersion).toBe(whole.resourceVersion)
          seen.push(...page.items)
        }
        expect(seen).toEqual(whole.items)
      },
    )
    await fc.assert(property)
  })
})
