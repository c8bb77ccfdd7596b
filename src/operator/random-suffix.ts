import { randomBytes } from 'node:crypto'

/** No vowels and nothing that is easily confused, as in Kubernetes. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** Five characters that tell one Pod's name from another's. */
export function randomSuffix(): string {
  return Array.from(randomBytes(5), (byte) => alphabet[byte % alphabet.length]).join('')
}
