/** An absolute URL, or an absolute path, as Go's request URIs are. */
export function parseUrl(text: string): URL {
  const url = tryParse(text)
  if (url) return url
  throw new TypeError(
    `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
  )
}

export function isUrl(text: string): boolean {
  return tryParse(text) !== undefined
}

function tryParse(text: string): URL | undefined {
  if (/[\s\p{Cc}]/u.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return undefined
  if (text.startsWith('/')) return URL.parse(`path:${text}`) ?? undefined
  return /^[A-Za-z][-A-Za-z0-9+.]*:/.test(text) ? (URL.parse(text) ?? undefined) : undefined
}
