/** Where the proxied program appears for the client, and which hosts in its links mean itself. */
export interface ProxiedAt {
  /** `/api/v1/…/proxy`, without a trailing slash. */
  readonly base: string
  /** The host the client asked, and the one the request went to. */
  readonly hosts: readonly string[]
}

/** Attributes that hold addresses, by element: those that Kubernetes' proxy knows. */
const linkAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

/** A link of the proxied program, rewritten for the client. Relative links and those to other hosts stay. */
export function proxiedLink(link: string, { base, hosts }: ProxiedAt): string {
  const match = /^(?:https?:)?\/\/([^/?#]*)/i.exec(link)
  if (match && !hosts.includes(match[1] ?? '')) return link
  const path = match ? link.slice(match[0].length) : link
  if (!path.startsWith('/')) return match && path === '' ? `${base}/` : link
  return path === base || path.startsWith(`${base}/`) ? path : `${base}${path}`
}

/** A page with its links rewritten. Reads every character once. */
export function proxiedPage(html: string, at: ProxiedAt): string {
  const pieces: string[] = []
  let from = 0
  for (let open = html.indexOf('<'); open >= 0; open = html.indexOf('<', from)) {
    pieces.push(html.slice(from, open))
    const isComment = html.startsWith('<!--', open)
    const close = html.indexOf(isComment ? '-->' : '>', open)
    from = close < 0 ? html.length : close + (isComment ? 3 : 1)
    const tag = html.slice(open, from)
    pieces.push(isComment ? tag : proxiedTag(tag, at))
  }
  pieces.push(html.slice(from))
  return pieces.join('')
}

function proxiedTag(tag: string, at: ProxiedAt): string {
  const element = /^<([a-z][a-z0-9]*)/i.exec(tag)?.[1]?.toLowerCase()
  const attributes =
    element !== undefined && Object.hasOwn(linkAttributes, element) ? linkAttributes[element] : undefined
  if (!attributes) return tag
  return tag.replace(/([\s"'])([a-z]+)=("[^"]*"|'[^']*')/gi, (whole, before: string, name: string, quoted: string) => {
    if (!attributes.includes(name.toLowerCase())) return whole
    const quote = quoted.slice(0, 1)
    return `${before}${name}=${quote}${proxiedLink(quoted.slice(1, -1), at)}${quote}`
  })
}
