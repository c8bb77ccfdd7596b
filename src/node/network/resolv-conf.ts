import type { Pod } from '../../resources/pod.ts'
import { isObject, objectsOf, textOf, textsOf } from './spec-text.ts'

export interface ResolverSettings {
  readonly nameservers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

export interface ResolvConfFacts {
  readonly clusterDomain: string
  /** The cluster's DNS servers; without one, Pods get the machine's. */
  readonly nameservers: readonly string[]
  /** The text of the machine's own `resolv.conf`. */
  readonly machineResolvConf: string
}

export interface PodResolvConf {
  readonly text: string
  /** What was left out because it does not fit, in the words of the kubelet's Event `DNSConfigForming`. */
  readonly warnings: readonly string[]
}

const most = { nameservers: 3, searches: 32, searchCharacters: 2_048, domainCharacters: 253 }

/** `/etc/resolv.conf` of a Pod, as the kubelet and the runtime make it of its `dnsPolicy` and `dnsConfig`. */
export function resolvConfOf(pod: Pod, facts: ResolvConfFacts): PodResolvConf {
  const settings = withDnsConfig(settingsByPolicy(pod, facts), pod.spec['dnsConfig'])
  const nameservers = settings.nameservers.slice(0, most.nameservers)
  const searches = fittingSearches(settings.searches)
  const warnings: string[] = []
  if (nameservers.length < settings.nameservers.length) {
    warnings.push(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${nameservers.join(' ')}`,
    )
  }
  if (searches.length < settings.searches.length) {
    warnings.push(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    )
  }
  return { text: resolvConfText({ ...settings, nameservers, searches }), warnings }
}

function settingsByPolicy(
  pod: Pod,
  { clusterDomain, nameservers, machineResolvConf }: ResolvConfFacts,
): ResolverSettings {
  const policy = textOf(pod.spec['dnsPolicy']) || 'ClusterFirst'
  if (policy === 'None') return { nameservers: [], searches: [], options: [] }
  const machine = parseResolvConf(machineResolvConf)
  const ofMachine = policy === 'Default' || (policy === 'ClusterFirst' && pod.spec['hostNetwork'] === true)
  if (ofMachine || nameservers.length === 0) return machine
  const { namespace = '' } = pod.metadata
  const own = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
  return { nameservers, searches: eachOnce([...own, ...machine.searches]), options: ['ndots:5'] }
}

/** Adds the Pod's own `dnsConfig`, whose options win. */
function withDnsConfig(settings: ResolverSettings, dnsConfig: unknown): ResolverSettings {
  if (!isObject(dnsConfig)) return settings
  const options = new Map(settings.options.map(splitOption))
  for (const { name, value } of objectsOf(dnsConfig['options'])) options.set(textOf(name), textOf(value))
  return {
    nameservers: eachOnce([...settings.nameservers, ...textsOf(dnsConfig['nameservers'])]),
    searches: eachOnce([...settings.searches, ...textsOf(dnsConfig['searches'])]),
    options: [...options].map(([name, value]) => (value === '' ? name : `${name}:${value}`)),
  }
}

function splitOption(option: string): [string, string] {
  const colon = option.indexOf(':')
  return colon < 0 ? [option, ''] : [option.slice(0, colon), option.slice(colon + 1)]
}

function fittingSearches(searches: readonly string[]): readonly string[] {
  // Too long a domain can make a C library abort its program.
  const fitting = searches.slice(0, most.searches).filter(({ length }) => length <= most.domainCharacters)
  while (fitting.join(' ').length > most.searchCharacters) fitting.pop()
  return fitting
}

/** The last line of each kind counts, but nameservers add up. */
export function parseResolvConf(text: string): ResolverSettings {
  const nameservers: string[] = []
  let searches: readonly string[] = []
  let options: readonly string[] = []
  for (const line of text.split('\n')) {
    const [word, ...values] = line.trim().split(/\s+/)
    const [first] = values
    if (word === 'nameserver' && first !== undefined) nameservers.push(first)
    // A trailing dot makes no difference to a domain.
    if (word === 'search') searches = values.map((one) => (one.length > 1 ? one.replace(/\.$/, '') : one))
    if (word === 'options') options = values
  }
  return { nameservers, searches, options }
}

function resolvConfText({ nameservers, searches, options }: ResolverSettings): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...nameservers.map((address) => `nameserver ${address}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function eachOnce(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}
