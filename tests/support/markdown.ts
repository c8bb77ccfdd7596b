/** A block of code between fences, and what its first fence says. */
export interface FencedBlock {
  readonly language: string
  readonly text: string
}

const fenced = /^(?<fence>```+|~~~+)(?<language>[^\n]*)\n(?<text>[^]*?)^\k<fence>$/gm

export function fencedBlocks(page: string): FencedBlock[] {
  return [...page.matchAll(fenced)].map(({ groups }) => ({
    language: groups?.['language']?.trim() ?? '',
    text: groups?.['text'] ?? '',
  }))
}

/** What a page links to or shows, as it is written. What stands in code is no link. */
export function linkTargets(page: string): string[] {
  const prose = page.replaceAll(fenced, '').replaceAll(/`[^`\n]*`/g, 'code')
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target ?? '')
}

/** The names by which links lead to the headings of a page, as GitHub makes them. */
export function headingAnchors(page: string): string[] {
  const seen = new Map<string, number>()
  return [...page.replaceAll(fenced, '').matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading]) => {
    const slug = headingSlug(heading ?? '')
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
}

function headingSlug(heading: string): string {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}
