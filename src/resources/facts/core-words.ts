import { readFileSync } from 'node:fs'

/** What Kubernetes says about a type: about itself under the empty name, and about its fields. */
export type TypeWords = Readonly<Record<string, string>>

/** By the name of the type. */
export type Words = Readonly<Record<string, TypeWords>>

/** Forgotten when memory is needed: they are longer than all facts together, and hardly ever asked for. */
let kept: WeakRef<Words> | undefined

/**
 * The descriptions in Kubernetes' own API documents, word for word, as `kubectl explain` shows them. They are the work
 * of the Kubernetes authors, under the Apache License 2.0.
 */
export function coreWords(): Words {
  const known = kept?.deref()
  if (known) return known
  const read = parseWords(readFileSync(new URL('core-words.json', import.meta.url), 'utf8'))
  kept = new WeakRef(read)
  return read
}

function parseWords(text: string): Words {
  return JSON.parse(text)
}
