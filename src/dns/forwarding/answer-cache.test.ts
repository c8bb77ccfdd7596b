import { describe, expect, it } from 'vitest'
import { AnswerCache, type ForeignAnswer, lifetimeOf } from './answer-cache.ts'
import { addressRecord, authorityRecord, textRecord } from '../messages/new-record.ts'

const limits = { entries: 3, bytes: 64 * 1024, longestSeconds: 30 }
const record = (ttl: number) => addressRecord(['www', 'example'], Buffer.from([192, 0, 2, 1]), ttl)
const authority = (ttl: number) => authorityRecord(['example'], 1, ttl)
const answer = (more: Partial<ForeignAnswer>): ForeignAnswer => ({
  rcode: 0,
  answers: [],
  authorities: [],
  additionals: [],
  authenticData: false,
  ...more,
})

describe('how long an answer holds', () => {
  it.each<[string, Partial<ForeignAnswer>, number | undefined]>([
    ['as long as its shortest record', { answers: [record(60), record(20)] }, 20],
    ['not at all when a record must not be kept', { answers: [record(60), record(0)] }, 0],
    ['as long as its zone says when the name does not exist', { rcode: 3, authorities: [authority(15)] }, 15],
    ['as long as its zone says when there is nothing of the kind', { authorities: [authority(15)] }, 15],
    ['for both when an alias leads to nothing', { answers: [record(10)], authorities: [authority(15)] }, 10],
    ['not at all when nobody says for how long', {}, undefined],
    ['not at all when a denial does not say for how long', { rcode: 3, answers: [record(10)] }, undefined],
    ['not at all when it is a failure', { rcode: 2, authorities: [authority(15)] }, undefined],
  ])('is %s', (_, sections, seconds) => {
    expect(lifetimeOf(answer(sections))).toBe(seconds)
  })
})

describe('the cache of answers', () => {
  it('keeps nothing for longer than its limit, and tells what is left', () => {
    const cache = new AnswerCache(limits)
    expect(cache.put('a', answer({ answers: [record(3_600)] }), 1_000).answers).toEqual([record(30)])
    expect(cache.get('a', 11_999)?.answers).toEqual([record(20)])
    expect(cache.get('a', 31_000)).toBeUndefined()
    expect(cache.size).toBe(0)
  })

  it('forgets what was used least recently', () => {
    const cache = new AnswerCache(limits)
    for (const key of ['a', 'b', 'c']) cache.put(key, answer({ answers: [record(30)] }), 0)
    cache.get('a', 1)
    cache.put('d', answer({ answers: [record(30)] }), 2)
    expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key, 3))).toEqual(['a', 'c', 'd'])
  })

  it('has a bound in bytes, and does not take what would fill it', () => {
    const cache = new AnswerCache({ ...limits, entries: 1_000 })
    const large = answer({ answers: Array.from({ length: 20 }, () => textRecord(['a'], 'x'.repeat(255), 30)) })
    cache.put('large', large, 0)
    expect(cache.size).toBe(0)
    const some = answer({ answers: [textRecord(['a'], 'x'.repeat(255), 30)] })
    for (let count = 0; count < 1_000; count++) cache.put(`key ${count}`, some, 0)
    expect(cache.size).toBeGreaterThan(50)
    expect(cache.size).toBeLessThan(120)
  })

  it('does not trust a clock that was set back', () => {
    const cache = new AnswerCache(limits)
    cache.put('a', answer({ answers: [record(30)] }), 1_000_000)
    expect(cache.get('a', 0)).toBeUndefined()
  })
})
