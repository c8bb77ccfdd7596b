import { describe, expect, it } from 'vitest'
import { type UsageRecord, usageRecordSchema } from '../resources/usage-record.ts'
import { ManagementStage, cacheOf, credential, rival } from './management-stage.fixture.ts'
import { usageAnswer } from './usage-answer.ts'

const record = (day: string, served: object[]): UsageRecord =>
  usageRecordSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'UsageRecord',
    metadata: { name: day },
    spec: { day, writer: 'gateway', lastWrite: { run: 'a', number: 1 }, served },
  })
const now = Date.UTC(2030, 0, 31, 12)

describe('the question about usage', () => {
  it('is by default one about each of the last 30 days', () => {
    const records = ['2030-01-01', '2030-01-02', '2030-01-31'].map((day) => record(day, [{ model: 'm', requests: 2 }]))
    expect(usageAnswer('', records, now)).toMatchObject({
      since: '2030-01-02',
      until: '2030-01-31',
      by: ['day'],
      rows: [
        { day: '2030-01-02', requests: 2 },
        { day: '2030-01-31', requests: 2 },
      ],
      total: { requests: 4 },
    })
  })

  it.each([
    ['since=yesterday', 'since must be a day'],
    ['since=2030-02-31', 'since must be a day'],
    ['until=', 'until must be a day'],
    ['by=hour', 'by must be some of day, model, key'],
    ['by=day,day', 'each once'],
    ['model=', 'model must be a name'],
    [`key=${'k'.repeat(254)}`, 'key must be a name'],
    ['by=day&by=key', 'by is there more than once'],
    ['page=2', 'there is no parameter "page"'],
  ])('is refused if it is %s', (query, why) => {
    expect(() => usageAnswer(query, [], now)).toThrow(why)
  })

  it('is refused if the answer would be too long', () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => ({ model: 'm', key: `k${index}`, requests: 1 }))
    const records = Array.from({ length: 11 }, (_, index) => record(`2030-01-${10 + index}`, keys))
    expect(() => usageAnswer('by=day,key', records, now)).toThrow('too many rows')
    expect(usageAnswer('by=key', records, now).rows).toHaveLength(1_000)
  })
})

describe('the management API', () => {
  const stage = new ManagementStage()
  const withUsage = (...records: UsageRecord[]) => {
    const { find } = stage
    stage.find = (id) => {
      const view = find(id)
      return view && { ...view, usage: cacheOf(...records) }
    }
  }

  it('tells what the models of a cluster were used for', async () => {
    withUsage(record('2030-01-31', [{ model: 'tiny', key: 'ada', requests: 3, promptTokens: 5 }]))
    const { status, json } = await stage.ask('/api/vks/v1/vks-1/usage?since=2030-01-01&until=2030-12-31&by=model,key')
    expect(status).toBe(200)
    const row = { model: 'tiny', key: 'ada', requests: 3, promptTokens: 5 }
    expect(json).toMatchObject({ code: 0, data: { rows: [row], total: { requests: 3 } } })
  })

  it('tells nothing of a cluster that has no models, and nothing to others', async () => {
    expect((await stage.ask('/api/vks/v1/vks-1/usage')).json).toMatchObject({ code: 0, data: { rows: [] } })
    const refusal = { status: 404, json: { code: -1, msg: 'There is no cluster vks-1.' } }
    expect(await stage.ask('/api/vks/v1/vks-1/usage', credential(rival))).toMatchObject(refusal)
    expect(await stage.ask('/api/vks/v1/vks-1/usage/')).toMatchObject({ status: 404 })
    expect(await stage.ask('/api/vks/v1/usage')).toMatchObject({
      status: 404,
      json: { msg: 'There is no cluster usage.' },
    })
  })
})
