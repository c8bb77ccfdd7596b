/** Why an archive, layer or document is refused. Whoever began the import adds which file it was. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault'
}

/** Names in archives are bytes. Here, a path is a string with one character per byte, so that none is lost. */
export function pathBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

export function pathOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** A path for messages: shortened, and without control characters. */
export function shownPath(path: string): string {
  const text = pathBytes(path.slice(0, 300)).toString('utf8')
  return JSON.stringify(path.length > 300 ? `${text}…` : text)
}
