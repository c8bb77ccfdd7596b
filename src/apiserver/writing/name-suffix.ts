/** Without vowels, so that no words come out, and without characters that are easily confused. */
const characters = 'bcdfghjklmnpqrstvwxz2456789'

/** What the server appends to a generated name. */
export function randomSuffix(): string {
  let suffix = ''
  while (suffix.length < 5) suffix += characters.charAt(Math.floor(Math.random() * characters.length))
  return suffix
}
