import { describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { EventCorrelator } from './event-correlator.ts'

const minute = 60_000
const about = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `uid of ${name}` },
})

/** Reports something about a Pod at a time; returns what would be written. */
function correlator() {
  const own = new EventCorrelator()
  const say = (message: string, at: number, name = 'a', reason = 'Refused') => {
    const told = own.correlate({ about: about(name), type: 'Warning', reason, message, at })
    return told && `${told.count}x ${told.message}`
  }
  return { own, say }
}

describe('what is told of what happens, as client-go tells it', () => {
  it('the same is counted, for each object by itself', () => {
    const { say } = correlator()
    expect(say('no', 0)).toBe('1x no')
    expect(say('no', 20 * minute)).toBe('2x no')
    expect(say('no', 20 * minute, 'b')).toBe('1x no')
    expect(say('no', 20 * minute, 'a', 'Else')).toBe('1x no')
  })

  it('the tenth that differs only in its message, and those after it, are one', () => {
    const { say } = correlator()
    for (let index = 1; index < 10; index += 1) expect(say(`address ${index}`, index)).toBe(`1x address ${index}`)
    expect(say('address 10', 10)).toBe('1x (combined from similar events): address 10')
    expect(say('address 11', 11)).toBe('2x (combined from similar events): address 11')
    expect(say('address 3', 12)).toBe('2x address 3')
    expect(say('another', 13, 'b')).toBe('1x another')
  })

  it('after ten quiet minutes each is told by itself again', () => {
    const { say } = correlator()
    for (let index = 1; index <= 12; index += 1) say(`address ${index}`, index)
    expect(say('address 13', 12 + 10 * minute)).toBe('4x (combined from similar events): address 13')
    expect(say('address 14', 13 + 20 * minute + 1)).toBe('1x address 14')
  })

  it('an object is told of 25 times at once, then every five minutes; what was not told is counted', () => {
    const { say } = correlator()
    const told = Array.from({ length: 100 }, () => say('no', 0)).filter((each) => each !== undefined)
    expect(told).toHaveLength(25)
    expect(say('no', 5 * minute - 1)).toBeUndefined()
    expect(say('no', 5 * minute)).toBe('102x no')
    expect(say('no', 5 * minute)).toBeUndefined()
    expect(say('no', 5 * minute, 'b')).toBe('1x no')
  })

  it('an Event that is gone begins anew under another name', () => {
    const { own, say } = correlator()
    say('no', 0)
    const again = own.correlate({ about: about('a'), type: 'Warning', reason: 'Refused', message: 'no', at: 1 })
    if (!again) throw new Error('it was not told')
    own.written(again.key, 'first')
    expect(own.nameOf(again.key)).toBe('first')
    expect(own.restart(again)).toMatchObject({ count: 1, firstAt: 1 })
    expect(own.nameOf(again.key)).toBeUndefined()
  })
})
