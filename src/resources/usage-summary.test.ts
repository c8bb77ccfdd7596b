import { describe, expect, it } from 'vitest'
import { type CardUsage, type ServedUsage, type UsageRecord, usageRecordSchema } from './usage-record.ts'
import { noneServed, summarizeUsage } from './usage-summary.ts'

const record = (
  day: string,
  writer: string,
  served: readonly ServedUsage[],
  cards: readonly CardUsage[],
): UsageRecord =>
  usageRecordSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'UsageRecord',
    metadata: { name: `${day}-${writer}` },
    spec: { day, writer, lastWrite: { run: 'a', number: 1 }, served, cards },
  })
const served = (model: string, key: string | undefined, requests: number): ServedUsage => ({
  model,
  key,
  ...noneServed(),
  requests,
  promptTokens: requests * 10,
})

const records = [
  record('2030-01-01', 'gateway-a', [served('small', 'ada', 1), served('large', undefined, 2)], []),
  record('2030-01-01', 'gateway-b', [served('small', 'ada', 4), served('small', 'bob', 8)], []),
  record('2030-01-02', 'gateway-a', [served('small', 'ada', 16)], []),
  record('2030-01-02', 'controller', [], [{ model: 'small', seconds: 0.4, savedSeconds: 86_000 }]),
  record('2030-01-01', 'controller', [], [{ model: 'asleep', seconds: 0, savedSeconds: 86_400 }]),
]
const since = '2030-01-01'

describe('usage', () => {
  it('is added up over all writers, by model with its cards', () => {
    const { rows, total } = summarizeUsage(records, { since, by: ['model'] })
    const cards = { cardSeconds: 0, savedCardSeconds: 0 }
    expect(rows).toEqual([
      { model: 'asleep', ...noneServed(), cardSeconds: 0, savedCardSeconds: 86_400 },
      { model: 'large', ...noneServed(), requests: 2, promptTokens: 20, ...cards },
      { model: 'small', ...noneServed(), requests: 29, promptTokens: 290, cardSeconds: 0, savedCardSeconds: 86_000 },
    ])
    expect(total).toMatchObject({ requests: 31, promptTokens: 310, savedCardSeconds: 172_400 })
  })

  it('is told by key without cards, which are held for everybody', () => {
    const { rows, total } = summarizeUsage(records, { since, by: ['key'] })
    expect(rows.map(({ key, requests }) => [key, requests])).toEqual([
      [null, 2],
      ['ada', 21],
      ['bob', 8],
    ])
    expect(total).not.toHaveProperty('cardSeconds')
  })

  it('is told of some days, one model and one key only', () => {
    const days = (question: object) =>
      summarizeUsage(records, { since, by: ['day'], ...question }).rows.map(({ day, requests }) => [day, requests])
    expect(days({})).toEqual([['2030-01-01', 15], ['2030-01-02', 16]]) // prettier-ignore
    expect(days({ since: '2030-01-02' })).toEqual([['2030-01-02', 16]])
    expect(days({ until: '2030-01-01', model: 'small', key: 'ada' })).toEqual([['2030-01-01', 5]])
  })

  it('has a row for each pair of several groupings, and none where nothing was used', () => {
    const { rows } = summarizeUsage(records, { since, by: ['day', 'model'] })
    expect(rows.map(({ day, model, requests }) => `${day} ${model} ${requests}`)).toEqual([
      '2030-01-01 asleep 0',
      '2030-01-01 large 2',
      '2030-01-01 small 13',
      '2030-01-02 small 16',
    ])
    expect(summarizeUsage(records, { since: '2031-01-01', by: [] })).toMatchObject({ rows: [], total: { requests: 0 } })
  })
})
