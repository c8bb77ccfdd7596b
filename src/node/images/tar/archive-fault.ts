/** Why an archive, a layer or an image's document is not taken. Whoever began the import says which file it was. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault'
}

/**
 * Names in archives are bytes. Inside this room a path is a string with one character for each byte, so that none is
 * lost.
 */
export function pathBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

export function pathOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** For people: cut where it is long, and never with characters that move their cursor. */
export function shownPath(path: string): string {
  const text = pathBytes(path.slice(0, 300)).toString('utf8')
  return JSON.stringify(path.length > 300 ? `${text}…` : text)
}
