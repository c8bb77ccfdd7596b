import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import { mergePatch } from '../patches/merge-patch.ts'
import { type Phases, PlainTurns, inTurns, overtaken } from './write-phases.ts'

/** Turns that are over after every phase, and what others do in between. */
function interrupted(others: (pause: number) => unknown): Turns & { pauses: number } {
  return {
    isOver: true,
    pauses: 0,
    async next() {
      this.pauses += 1
      await others(this.pauses)
    },
  }
}

function* phases(log: string[]): Phases<string> {
  log.push('one')
  yield
  log.push('two')
  yield
  return 'done'
}

describe('work in phases', () => {
  it('is done at once where its turn is not over', () => {
    const turns: Turns = { isOver: false, next: () => Promise.reject(new Error('nobody asked for it')) }
    expect(inTurns(phases([]), turns, () => false)).toBe('done')
  })

  it('lets others go first between two phases', async () => {
    const log: string[] = []
    const turns = interrupted((pause) => log.push(`others ${pause}`))
    await expect(inTurns(phases(log), turns, () => true)).resolves.toBe('done')
    expect(log).toEqual(['one', 'others 1', 'two', 'others 2'])
  })

  it('is given up when what it began with is no longer true', async () => {
    const log: string[] = []
    await expect(
      inTurns(
        phases(log),
        interrupted(() => {}),
        () => false,
      ),
    ).resolves.toBe(overtaken)
    expect(log).toEqual(['one'])
  })

  it('of somebody who stands in no queue pauses when it has taken some milliseconds', async () => {
    let now = 0
    const turns = new PlainTurns(() => now)
    expect(turns.isOver).toBe(false)
    now = 10
    expect(turns.isOver).toBe(true)
    await turns.next()
    expect(turns.isOver).toBe(false)
  })
})

describe('a write that takes several turns', () => {
  let api: ClusterApi

  beforeEach(async () => {
    api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: new FakeClock() })
    await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
  })

  const ref = { namespace: 'demo', name: 'map' }
  const map = (data: Record<string, string>) => ({ metadata: { name: 'map' }, data })
  const adding = (data: Record<string, string>) => (current: unknown) => mergePatch(current, { data })

  it('loses nothing of what others wrote meanwhile', async () => {
    await api.create(configMapKind, 'demo', map({ a: '1' }))
    const turns = interrupted((pause) => pause === 1 && api.patch(configMapKind, ref, adding({ b: '2' })))
    const patched = await api.patch(configMapKind, ref, adding({ c: '3' }), { turns })
    expect(patched['data']).toEqual({ a: '1', b: '2', c: '3' })
    expect(turns.pauses).toBeGreaterThan(2)
  })

  it('is made in the end, however often others write meanwhile', async () => {
    await api.create(configMapKind, 'demo', map({ a: '1' }))
    const turns = interrupted((pause) => api.patch(configMapKind, ref, adding({ b: String(pause) })))
    const patched = await api.patch(configMapKind, ref, adding({ c: '3' }), { turns })
    expect(patched['data']).toMatchObject({ a: '1', c: '3' })
  })

  it('is refused when the version it replaces is another one meanwhile', async () => {
    const created = await api.create(configMapKind, 'demo', map({ a: '1' }))
    const turns = interrupted((pause) => pause === 1 && api.patch(configMapKind, ref, adding({ b: '2' })))
    const updating = api.update(configMapKind, ref, { ...created, data: { c: '3' } }, { turns })
    await expect(updating).rejects.toSatisfy((error) => isStatusError(error, 'Conflict'))
  })

  it('does not bring back what was deleted meanwhile', async () => {
    await api.create(configMapKind, 'demo', map({ a: '1' }))
    const turns = interrupted((pause) => pause === 1 && api.delete(configMapKind, ref))
    const patching = api.patch(configMapKind, ref, adding({ b: '2' }), { turns })
    await expect(patching).rejects.toSatisfy((error) => isStatusError(error, 'NotFound'))
    expect(api.find(configMapKind, ref)).toBeUndefined()
  })

  it('makes nothing in a namespace that is being deleted meanwhile', async () => {
    const turns = interrupted((pause) => pause === 1 && api.delete(namespaceKind, { name: 'demo' }))
    const creating = api.create(configMapKind, 'demo', map({ a: '1' }), { turns })
    await expect(creating).rejects.toSatisfy((error) => isStatusError(error, 'Forbidden'))
  })

  it('is judged by the definition that there is when it is made', async () => {
    const definition = (type: string) => ({
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { size: { type } } } },
          },
        ],
      },
    })
    const made = await api.create(customResourceDefinitionKind, undefined, definition('string'))
    const kind = api.kinds.find('example.com', 'v1', 'widgets')
    if (!kind) throw new Error('expected Widgets to be served')
    const next = { ...made, spec: definition('integer').spec }
    const turns = interrupted(
      (pause) => pause === 1 && api.update(customResourceDefinitionKind, { name: made.metadata.name }, next),
    )
    const creating = api.create(kind, 'demo', { metadata: { name: 'w' }, size: 'large' }, { turns })
    await expect(creating).rejects.toSatisfy((error) => isStatusError(error, 'Invalid'))
  })
})
