import { describe, expect, it } from 'vitest'
import { literalRules } from './literal-trie.ts'
import { seededRandom } from '../llama/token-draw.ts'

/** Every text that the rules allow. The rules never refer to themselves, so there is a finite number of them. */
function language({ expression, rules }: ReturnType<typeof literalRules>): string[] {
  const bodies = new Map(
    rules.map((rule): [string, string] => {
      const at = rule.indexOf(' ::= ')
      return [rule.slice(0, at), rule.slice(at + 5)]
    }),
  )
  const textsOf = (body: string): string[] => {
    const alternatives: string[][] = [['']]
    for (const [part] of body.matchAll(/"(?:\\.|[^"\\])*"|\||[\w-]+/g)) {
      const last = alternatives.at(-1) ?? []
      if (part === '|') alternatives.push([''])
      else {
        const endings = part.startsWith('"') ? [JSON.parse(part) as string] : textsOf(bodies.get(part) ?? '')
        alternatives[alternatives.length - 1] = last.flatMap((text) => endings.map((ending) => text + ending))
      }
    }
    return alternatives.flat()
  }
  return textsOf(expression)
}

describe('literalRules', () => {
  it.each([
    [['a']],
    [['']],
    [['', 'a', 'ab', 'abc', 'b']],
    [['"a"', '"ab"', '"\\"', '\\n', '\n\t\r', '|', 'x | y', 'x-0']],
    [['😀', '😁', '🎉a', '\ud83d', '\ud83dx', '\ud83d\ud83d', 'é', 'e\u0301']],
    [['1', '12', '1', '1.5', '-1', 'true', 'null']],
  ])('allows exactly %j', (texts) => {
    expect(language(literalRules(texts, 'x')).toSorted()).toEqual([...new Set(texts)].toSorted())
  })

  it('allows exactly the values of any list, each in one way', () => {
    const random = seededRandom(7)
    const alphabets = ['ab', 'ab"\\', '😀😁a', '\ud83d\ude00\ude01x', '0123456789']
    for (let round = 0; round < 300; round++) {
      const alphabet = alphabets[round % alphabets.length] ?? ''
      const texts = Array.from({ length: 1 + Math.floor(random() * 60) }, () =>
        Array.from({ length: Math.floor(random() * 6) }, () => alphabet[Math.floor(random() * alphabet.length)]).join(
          '',
        ),
      )
      expect(language(literalRules(texts, 'x')).toSorted()).toEqual([...new Set(texts)].toSorted())
    }
  })

  it('has few ways to go on in any place, however many values there are', () => {
    const { widest, rules } = literalRules(
      Array.from({ length: 20_000 }, (_, index) => `value-${index}`),
      'x',
    )
    expect(widest).toBeLessThanOrEqual(11)
    expect(rules.length).toBeLessThan(20_000)
  })
})
