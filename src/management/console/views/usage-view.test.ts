import { describe, expect, it } from 'vitest'
import { usageRecordSchema } from '../../../resources/usage-record.ts'
import { usageView } from './usage-view.ts'

const now = Date.parse('2030-02-01T12:00:00Z')

function record(day: string, served: object[], cards: object[]) {
  return usageRecordSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'UsageRecord',
    metadata: { name: `w-${day}`, namespace: 'sluice' },
    spec: { day, writer: 'w', lastWrite: { run: 'r', number: 1 }, served, cards },
  })
}

describe('usageView', () => {
  it('has every day of the month, the most expensive model first, and nothing older', () => {
    const view = usageView(
      [
        record('2029-12-31', [], [{ model: 'a', seconds: 999, savedSeconds: 0 }]),
        record('2030-01-31', [{ model: 'a', requests: 2, promptTokens: 5, completionTokens: 7 }], []),
        record(
          '2030-02-01',
          [],
          [
            { model: 'a', seconds: 10, savedSeconds: 90 },
            { model: 'b', seconds: 20, savedSeconds: 0 },
          ],
        ),
      ],
      now,
    )
    expect(view.days).toHaveLength(30)
    expect(view.days.slice(-2)).toEqual([
      { name: '2030-01-31', heldSeconds: 0, savedSeconds: 0, requests: 2, tokens: 12 },
      { name: '2030-02-01', heldSeconds: 30, savedSeconds: 90, requests: 0, tokens: 0 },
    ])
    expect(view.models.map(({ name }) => name)).toEqual(['b', 'a'])
    expect(view.total).toEqual({ name: '', heldSeconds: 30, savedSeconds: 90, requests: 2, tokens: 12 })
  })
})
