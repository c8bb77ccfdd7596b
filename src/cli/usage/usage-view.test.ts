import { describe, expect, it } from 'vitest'
import { noneServed } from '../../resources/usage-summary.ts'
import { firstDay, groupingsOf, renderUsage, shownTime } from './usage-view.ts'

const figures = { ...noneServed(), requests: 3, failedRequests: 1, abandonedRequests: 1, promptTokens: 40 }
const cards = { cardSeconds: 95, savedCardSeconds: 86_305 }
const rowsOf = (text: string) => text.split('\n').map((line) => line.split(/\s{2,}/))

describe('sluice usage', () => {
  it('shows requests, tokens and cards of each model, and of all', () => {
    const row = { ...figures, completionTokens: 7, ...cards }
    const summary = { rows: [{ model: 'a', ...row }, { model: 'b', ...row }], total: row } // prettier-ignore
    const shown = ['3', '1', '40', '7', '1m35s', '23h58m']
    expect(rowsOf(renderUsage(summary, { by: ['model'], since: '2030-01-01' }, false))).toEqual([
      ['MODEL', 'REQUESTS', 'FAILED', 'PROMPT TOKENS', 'COMPLETION TOKENS', 'CARD TIME', 'SAVED'],
      ['a', ...shown],
      ['b', ...shown],
      ['all', ...shown],
    ])
  })

  it('shows a key without cards, and more figures if they are wanted', () => {
    const total = { ...figures, estimatedTokens: 12 }
    const summary = { rows: [{ key: null, ...total }], total }
    expect(rowsOf(renderUsage(summary, { by: ['key'], since: '2030-01-01' }, true))).toEqual([
      ['KEY', 'REQUESTS', 'FAILED', 'ABANDONED', 'PROMPT TOKENS', 'COMPLETION TOKENS', 'ESTIMATED'],
      ['-', '3', '1', '1', '40', '0', '12'],
    ])
  })

  it('says so when there is nothing', () => {
    const text = renderUsage({ rows: [], total: figures }, { by: ['day'], since: '2030-01-01' }, false)
    expect(text).toContain('Nothing was used since 2030-01-01.')
  })

  it.each([
    [0, '0s'],
    [59, '59s'],
    [60, '1m00s'],
    [3_600, '1h00m'],
    [47 * 3_600 + 59, '47h00m'],
    [49 * 3_600, '2d01h'],
  ])('shows %i seconds as %s', (seconds, shown) => expect(shownTime(seconds)).toBe(shown))

  it('takes days ago and dates, and several groupings', () => {
    const now = Date.UTC(2030, 0, 31, 12)
    expect([firstDay('7d', now), firstDay('12h', now), firstDay('2029-12-31', now)]).toEqual([
      '2030-01-24',
      '2030-01-31',
      '2029-12-31',
    ])
    expect(groupingsOf('day, model')).toEqual(['day', 'model'])
    expect(() => firstDay('yesterday', now)).toThrow('--since')
    expect(() => firstDay('999999d', now)).toThrow('--since')
    for (const wrong of ['', 'hour', 'day,day']) expect(() => groupingsOf(wrong)).toThrow('--by')
  })
})
