import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { NetworkNames } from '../../src/node/network/network-names.ts'

/** Removes what a killed Sluice has left in the machine's network, for tests that do not start it again. */
export function removeNetwork(data: string): void {
  const [id, ranges] = [textOf(join(data, 'node/id')), textOf(join(data, 'node/network.json'))]
  if (id === '' || ranges === '' || process.getuid?.() !== 0) return
  const names = new NetworkNames(id)
  const numbers = namespaces().flatMap((name) => names.numberOf(name) ?? [])
  const lines = [
    ...numbers.flatMap((number) => [`link del ${names.cable(number)}`, `netns del ${names.namespace(number)}`]),
    `link del ${names.bridge}`,
    ...servicesIn(ranges).map((services) => `route del local ${services} dev lo table local`),
  ]
  spawnSync('ip', ['-force', '-batch', '-'], { input: lines.map((line) => `${line}\n`).join('') })
  spawnSync('nft', ['delete', 'table', 'inet', names.table])
}

/** What exists of a Sluice in the machine's network: names of namespaces and devices, routes and rules. */
export function leftInNetwork(data: string): string[] {
  const [id, ranges] = [textOf(join(data, 'node/id')), textOf(join(data, 'node/network.json'))]
  if (id === '' || ranges === '') return []
  const names = new NetworkNames(id)
  const isOurs = (name: string) => name === names.bridge || names.numberOf(name) !== undefined
  const services = servicesIn(ranges)
  const devices = said('ip', ['-br', 'link']).map((line) => line.split(/[\s@]/)[0] ?? '')
  const routes = ['-4', '-6'].flatMap((family) => said('ip', [family, 'route', 'show', 'table', 'all']))
  const tables = said('nft', ['list', 'tables']).filter((line) => line.endsWith(names.table))
  return [
    ...namespaces().filter(isOurs),
    ...devices.filter(isOurs),
    ...routes.filter((line) => services.some((one) => line.includes(` ${one} `)) || line.split(' ').some(isOurs)),
    ...tables,
  ]
}

/** The ranges of Services, one for each address family. */
function servicesIn(ranges: string): string[] {
  const { services, ipv6 } = JSON.parse(ranges) as { services: string; ipv6?: { services: string } }
  return ipv6 ? [services, ipv6.services] : [services]
}

function said(program: string, args: readonly string[]): string[] {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
}

function namespaces(): string[] {
  try {
    return readdirSync(NetworkNames.namespaceFolder)
  } catch {
    return []
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
