import { describe, expect, it } from 'vitest'
import { nameIn } from './adding/model-name.ts'
import { ageText, agoText, cardTime, counted, durationText, gibibytes, sizeText, whenText } from './texts.ts'

describe('texts', () => {
  it.each([
    [400, '0.4 s'],
    [12_000, '12 s'],
    [200_000, '3 min 20 s'],
    [180_000, '3 min'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
  ])('a duration of %d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })

  it('say how long ago something was', () => {
    const now = Date.parse('2030-01-03T00:00:00Z')
    expect([30_000, 300_000, 7_200_000, 200_000_000].map((ms) => agoText(now - ms, now))).toEqual([
      'just now',
      '5 min ago',
      '2 h ago',
      '2 d ago',
    ])
    expect(ageText('2030-01-02T23:00:00Z', now)).toBe('1 h ago')
    expect(ageText(undefined, now)).toBe('')
  })

  it('say when something was, with its day unless that is today', () => {
    const at = new Date(2030, 0, 2, 12).toISOString()
    expect(whenText(at, new Date(2030, 0, 2, 13).getTime())).not.toContain('2030')
    expect(whenText(at, new Date(2030, 0, 3, 13).getTime())).toContain('2030')
  })

  it('count, and measure memory', () => {
    expect([counted(1, 'Pod'), counted(2, 'Pod')]).toEqual(['1 Pod', '2 Pods'])
    expect([40, 700, 12_600, 432_000].map(cardTime)).toEqual(['40 s', '12 min', '3.5 h', '120 h'])
    expect([700, 98 * 2 ** 20, 3 * 2 ** 30].map(sizeText)).toEqual(['1 MiB', '98 MiB', '3 GiB'])
    expect([gibibytes(2 ** 29), gibibytes(24 * 2 ** 30)]).toEqual(['0.5 GiB', '24 GiB'])
  })

  it.each([
    ['hf:org/repo/Some_Model.Q4_K.gguf', 'some-model-q4-k'],
    ['hf:org/repo/a.gguf@main', 'a'],
    ['pvc://userdata/models/tiny/', 'tiny'],
    ['smollm2', 'smollm2'],
    ['Big-00001-of-00003.gguf', 'big'],
  ])('guess a name from %s: %s', (source, name) => {
    expect(nameIn(source)).toBe(name)
  })
})
