import { parseDigest } from './archives/digest.ts'

/** The parts of an image name, as docker reads it. */
export interface ImageReference {
  /** `docker.io` by default. */
  readonly registry: string
  /** Such as `library/busybox`. */
  readonly repository: string
  readonly tag: string | undefined
  /** `sha256:…`; if there is one, the tag is ignored. */
  readonly digest: string | undefined
}

const longestName = 255
const registryPattern =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d{1,5})?$/
const addressPattern = /^\[[0-9a-fA-F:]{2,45}\](?::\d{1,5})?$/
const componentPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/
const tagPattern = /^\w[\w.-]{0,127}$/

/** `undefined` if the text is no valid image name. */
export function parseReference(text: string): ImageReference | undefined {
  const at = text.indexOf('@')
  const digest = at < 0 ? undefined : text.slice(at + 1)
  if (digest !== undefined && !parseDigest(digest)) return undefined
  const named = at < 0 ? text : text.slice(0, at)
  const colon = named.lastIndexOf(':')
  const hasTag = colon > named.lastIndexOf('/')
  const tag = hasTag ? named.slice(colon + 1) : undefined
  if (tag !== undefined && !tagPattern.test(tag)) return undefined
  const name = hasTag ? named.slice(0, colon) : named
  if (name.length > longestName) return undefined
  const [first = '', ...rest] = name.split('/')
  const isRegistry = rest.length > 0 && (/[.:[A-Z]/.test(first) || first === 'localhost')
  const given = isRegistry ? first : 'docker.io'
  if (!registryPattern.test(given) && !addressPattern.test(given)) return undefined
  const registry = given === 'index.docker.io' ? 'docker.io' : given
  const path = isRegistry ? rest : [first, ...rest]
  if (!path.every((component) => componentPattern.test(component))) return undefined
  const repository = registry === 'docker.io' && path.length === 1 ? `library/${path[0] ?? ''}` : path.join('/')
  return { registry, repository, tag: tag ?? (digest === undefined ? 'latest' : undefined), digest }
}

/** The full name, as `sluice image list` shows it: `docker.io/library/busybox:latest`. */
export function referenceName({ registry, repository, tag, digest }: ImageReference): string {
  const marks = [...(tag === undefined ? [] : [`:${tag}`]), ...(digest === undefined ? [] : [`@${digest}`])]
  return `${registry}/${repository}${marks.join('')}`
}

/**
 * The names that a Pod's image may have in the store, most likely first. Images of Pods carry the registry of the
 * compute center, which stands for everything that was imported: `<registry>/busybox` is also
 * `docker.io/library/busybox`, and `<registry>/ghcr.io/a/b:1` is also `ghcr.io/a/b:1`.
 */
export function storedNames(image: string, registry: string | undefined): readonly ImageReference[] {
  const whole = parseReference(image)
  const prefix = `${registry ?? ''}/`
  const behind =
    registry !== undefined && image.startsWith(prefix) ? parseReference(image.slice(prefix.length)) : undefined
  return [whole, behind].filter((reference) => reference !== undefined)
}
