import type { FamilyWords } from './family-words.ts'
import type { HostPort } from '../host-ports.ts'
import { type TableBuilder, nameFor } from './rule-text.ts'
import type { Endpoint, ServicePlace, ServiceProtocol, ServiceRoute } from './service-plan.ts'

const mostClients = 65_535

/** Adds the Services to the table: a map from address, protocol and port to the chain that chooses an endpoint. */
export function addServices(table: TableBuilder, words: FamilyWords, routes: readonly ServiceRoute[]): string {
  const elements = routes.map((route) => `${keyOf(route)} : goto ${addRoute(table, words, route)}`)
  const type = `${words.type} . inet_proto . inet_service : verdict`
  return table.set(words.nameOf('services'), { kind: 'map', type, elements })
}

/** Adds the Service ports that a program on the machine listens on. */
export function addLocalServices(table: TableBuilder, words: FamilyWords, places: readonly ServicePlace[]): string {
  const elements = [...new Set(places.map(keyOf))]
  const type = `${words.type} . inet_proto . inet_service`
  return table.set(words.nameOf('local_services'), { kind: 'set', type, elements })
}

/** Adds the host ports: one map for ports of a single address, one for ports of all addresses. */
export function addHostPorts(
  table: TableBuilder,
  words: FamilyWords,
  ports: readonly HostPort[],
): { one: string; all: string } {
  const chainOf = ({ protocol, address, port }: HostPort) =>
    table.chain(nameFor('host_port', protocol, address, String(port)), [
      destination(words, protocol, { address, port }),
    ])
  const elementsOf = (some: readonly HostPort[]) =>
    some.map((one) => {
      const key = `${one.protocol} . ${one.hostPort} : goto ${chainOf(one)}`
      return one.hostIP === '' ? key : `${one.hostIP} . ${key}`
    })
  const [all, one] = [ports.filter(({ hostIP }) => hostIP === ''), ports.filter(({ hostIP }) => hostIP !== '')]
  return {
    one: table.set(words.nameOf('host_address_ports'), {
      kind: 'map',
      type: `${words.type} . inet_proto . inet_service : verdict`,
      elements: elementsOf(one),
    }),
    all: table.set(words.nameOf('host_ports'), {
      kind: 'map',
      type: 'inet_proto . inet_service : verdict',
      elements: elementsOf(all),
    }),
  }
}

function addRoute(table: TableBuilder, words: FamilyWords, route: ServiceRoute): string {
  const { match, type } = words
  const { protocol, endpoints, affinitySeconds } = route
  const name = nameFor('service', keyOf(route))
  if (affinitySeconds === undefined) return table.chain(name, [anyOf(words, protocol, endpoints)])
  const places = endpoints.map((endpoint) => {
    const about = [keyOf(route), endpoint.address, String(endpoint.port)]
    const memory = table.memory(
      // A set's timeout cannot be changed, so it is part of the name.
      nameFor('clients', ...about, String(affinitySeconds)),
      `type ${type}; size ${mostClients}; flags dynamic,timeout; timeout ${affinitySeconds}s;`,
    )
    const chain = nameFor('endpoint', ...about)
    table.chain(chain, [`update @${memory} { ${match} saddr }`, destination(words, protocol, endpoint)])
    return { memory, chain }
  })
  const choice = places.map(({ chain }, index) => `${index} : goto ${chain}`).join(', ')
  return table.chain(name, [
    ...places.map(({ memory, chain }) => `${match} saddr @${memory} goto ${chain}`),
    `numgen random mod ${places.length} vmap { ${choice} }`,
  ])
}

function anyOf(words: FamilyWords, protocol: ServiceProtocol, endpoints: readonly Endpoint[]): string {
  const [only] = endpoints
  if (endpoints.length === 1 && only) return destination(words, protocol, only)
  const choice = endpoints.map(({ address, port }, index) => `${index} : ${address} . ${port}`).join(', ')
  return `meta l4proto ${protocol} dnat ${words.match} to numgen random mod ${endpoints.length} map { ${choice} }`
}

function destination({ match, at }: FamilyWords, protocol: ServiceProtocol, { address, port }: Endpoint): string {
  return `meta l4proto ${protocol} dnat ${match} to ${at(address, port)}`
}

function keyOf({ address, protocol, port }: ServicePlace): string {
  return `${address} . ${protocol} . ${port}`
}
