/**
 * The states within a JSON number: after the sign, after a leading zero, in the digits, after the point, in the
 * fraction, after `e`, after its sign, in the exponent.
 */
export type NumberPart = 'sign' | 'zero' | 'digits' | 'point' | 'fraction' | 'e' | 'e-sign' | 'exponent'

export function firstPart(byte: number): NumberPart {
  if (byte === 45) return 'sign'
  return byte === 48 ? 'zero' : 'digits'
}

/** `over`: the number ended before this byte. `wrong`: the number cannot end here. */
export function nextPart(part: NumberPart, byte: number): NumberPart | 'over' | 'wrong' {
  const isDigit = byte >= 48 && byte <= 57
  switch (part) {
    case 'sign':
      return isDigit ? firstPart(byte) : 'wrong'
    case 'zero':
    case 'digits':
      if (isDigit && part === 'digits') return 'digits'
      if (byte === 46) return 'point'
      return isE(byte) ? 'e' : 'over'
    case 'point':
      return isDigit ? 'fraction' : 'wrong'
    case 'fraction':
      if (isDigit) return 'fraction'
      return isE(byte) ? 'e' : 'over'
    case 'e':
      if (byte === 43 || byte === 45) return 'e-sign'
      return isDigit ? 'exponent' : 'wrong'
    case 'e-sign':
      return isDigit ? 'exponent' : 'wrong'
    case 'exponent':
      return isDigit ? 'exponent' : 'over'
    default:
      return part satisfies never
  }
}

function isE(byte: number): boolean {
  return (byte | 32) === 101
}
