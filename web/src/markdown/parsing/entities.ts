/** The entities that models write, as `name character` pairs. HTML has two thousand more, which stay as they are. */
const NAMED = new Map(
  (
    'amp & lt < gt > quot " apos \' nbsp \u00a0 ensp \u2002 emsp \u2003 thinsp \u2009 shy \u00ad zwnj \u200c zwj \u200d ' +
    'iexcl ¡ cent ¢ pound £ curren ¤ yen ¥ brvbar ¦ sect § uml ¨ copy © ordf ª laquo « not ¬ reg ® macr ¯ deg ° ' +
    'plusmn ± sup1 ¹ sup2 ² sup3 ³ acute ´ micro µ para ¶ middot · cedil ¸ ordm º raquo » frac14 ¼ frac12 ½ ' +
    'frac34 ¾ iquest ¿ Agrave À Aacute Á Acirc Â Atilde Ã Auml Ä Aring Å AElig Æ Ccedil Ç Egrave È Eacute É ' +
    'Ecirc Ê Euml Ë Igrave Ì Iacute Í Icirc Î Iuml Ï ETH Ð Ntilde Ñ Ograve Ò Oacute Ó Ocirc Ô Otilde Õ Ouml Ö ' +
    'times × Oslash Ø Ugrave Ù Uacute Ú Ucirc Û Uuml Ü Yacute Ý THORN Þ szlig ß agrave à aacute á acirc â ' +
    'atilde ã auml ä aring å aelig æ ccedil ç egrave è eacute é ecirc ê euml ë igrave ì iacute í icirc î iuml ï ' +
    'eth ð ntilde ñ ograve ò oacute ó ocirc ô otilde õ ouml ö divide ÷ oslash ø ugrave ù uacute ú ucirc û uuml ü ' +
    'yacute ý thorn þ yuml ÿ OElig Œ oelig œ Scaron Š scaron š fnof ƒ Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε ' +
    'Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ ' +
    'Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ ' +
    'lambda λ mu μ nu ν xi ξ omicron ο pi π rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω ' +
    'ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ dagger † Dagger ‡ bull • hellip … permil ‰ ' +
    'prime ′ Prime ″ lsaquo ‹ rsaquo › oline ‾ frasl ⁄ euro € trade ™ larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ ' +
    'lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ forall ∀ part ∂ exist ∃ empty ∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ ' +
    'minus − lowast ∗ radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨ cap ∩ cup ∪ int ∫ there4 ∴ sim ∼ cong ≅ asymp ≈ ' +
    'ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ nsub ⊄ sube ⊆ supe ⊇ oplus ⊕ otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈ rceil ⌉ ' +
    'lfloor ⌊ rfloor ⌋ lang ⟨ rang ⟩ loz ◊ spades ♠ clubs ♣ hearts ♥ diams ♦ check ✓ cross ✗ star ☆ starf ★'
  )
    .split(' ')
    .reduce<Array<[string, string]>>((pairs, word, index, words) => {
      if (index % 2 === 0) pairs.push([word, words[index + 1] ?? ''])
      return pairs
    }, []),
)

const REFERENCE = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z][a-zA-Z\d]{1,31}));/y
const REPLACEMENT = '\ufffd'

/** The character that the reference at this place stands for, and where it ends. Nothing it gives is ever markup. */
export function entityAt(text: string, at: number): { character: string; end: number } | undefined {
  REFERENCE.lastIndex = at
  const match = REFERENCE.exec(text)
  if (match === null) return undefined
  const [whole, decimal, hexadecimal, name] = match
  const character =
    name === undefined
      ? characterOf(decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal))
      : NAMED.get(name)
  return character === undefined ? undefined : { character, end: at + whole.length }
}

export function decodeEntities(text: string): string {
  let decoded = ''
  let from = 0
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    const found = entityAt(text, at)
    if (found === undefined) continue
    decoded += text.slice(from, at) + found.character
    from = found.end
    at = from - 1
  }
  return decoded + text.slice(from)
}

/** Characters that no text may have are replaced, as Markdown does. */
function characterOf(code: number): string {
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  return code === 0 || isSurrogate || code > 0x10ffff ? REPLACEMENT : String.fromCodePoint(code)
}
