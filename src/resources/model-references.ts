/**
 * `pvc://<claim>/<path>`: the claim is a DNS label; segments are not empty, not `.` or `..`, and contain no encoded
 * slash or dot.
 */
export const modelUrlPattern =
  /^pvc:\/\/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\/(?!\.{1,2}(\/|$))(?![^/]*%(2[eEfF]|5[cC]|00))[^/\\\s]+)+$/

export const modelUrlForm =
  'must have the form pvc://<claim-name>/<path-in-storage>, without empty, "." or ".." segments'

/**
 * The same in the Common Expression Language, whose regular expressions have no look-ahead and whose `\s` matches fewer
 * spaces. A test compares both for the same URLs on a real API server.
 */
export const modelUrlCel = [
  String.raw`self.matches(r'^pvc://[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(/[^/\\\s\v\pZ\x{FEFF}]+)+$')`,
  String.raw`!self.matches(r'/[.]{1,2}(/|$)')`,
  String.raw`!self.matches(r'%(2[eEfF]|5[cC]|00)')`,
].join(' && ')

/** `<gpu-profile>:<card-count>`; the profile is a card's resource name or `default`. */
export const resourceProfilePattern =
  /^(default|[a-z0-9]([-a-z0-9]*[a-z0-9])?\.com\/gpu(-[a-z0-9]([-a-z0-9]*[a-z0-9])?)?):([1-9][0-9]{0,3})$/

/** A name as labels may have it. Which engines there are is up to a cluster's operator. */
export const engineNamePattern = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** A name that clients ask for, such as gpt-4o or organization/model. */
export const modelAliasPattern = /^[A-Za-z0-9]([-A-Za-z0-9_.:/]{0,198}[A-Za-z0-9])?$/

/** An underscore would make it unclear where a Model's name ends. */
export const adapterNamePattern = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/

export interface ModelLocation {
  readonly claim: string
  readonly path: string
}

/** Parses an already validated `spec.url`. */
export function parseModelUrl(url: string): ModelLocation {
  const rest = url.slice('pvc://'.length)
  const slash = rest.indexOf('/')
  return { claim: rest.slice(0, slash), path: rest.slice(slash + 1) }
}

export interface ResourceProfile {
  readonly profile: string
  readonly cards: number
}

/** Parses an already validated `spec.resourceProfile`. */
export function parseResourceProfile(text: string): ResourceProfile {
  const colon = text.lastIndexOf(':')
  return { profile: text.slice(0, colon), cards: Number(text.slice(colon + 1)) }
}
