/** Without vowels, so that no words come out, and without what is easily confused. */
const characters = 'bcdfghjklmnpqrstvwxz2456789'

/** What the server puts behind a name that it completes. */
export function randomSuffix(): string {
  let suffix = ''
  while (suffix.length < 5) suffix += characters.charAt(Math.floor(Math.random() * characters.length))
  return suffix
}
