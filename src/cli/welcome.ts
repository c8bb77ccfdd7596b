import { relative } from 'node:path'
import type { UpFacts } from '../platform/up.ts'

/** What `sluice up` prints when it is ready: where everything is, and what to try. */
export function renderWelcome(facts: UpFacts): string {
  const { endpoints } = facts
  const kubeconfig = shortest(facts.kubeconfigPath)
  const ca = shortest(endpoints.ca)
  const rows: ReadonlyArray<readonly [string, string | null]> = [
    ['Chat page', endpoints.gateway && `${endpoints.gateway}/`],
    ['exposed at', endpoints.gatewayExposed && `${endpoints.gatewayExposed}/`],
    ['OpenAI API', endpoints.gateway && `${endpoints.gateway}/openai/v1`],
    ['Kubernetes API', endpoints.controlPlane],
    ['Console', `${endpoints.management}/`],
    ['Management API', endpoints.management],
    ['Data', shortest(facts.dataDirectory)],
    ['Cards', facts.cards],
  ]
  const lines = ['', `Sluice is up: cluster ${facts.clusterName} (${endpoints.clusterId})`, '']
  for (const [name, value] of [...rows, ...networkRows(facts)])
    if (value !== null) lines.push(`  ${name.padEnd(15)} ${value}`)
  lines.push(...openDoorWarning(facts))
  lines.push('', 'Try:', '')
  lines.push(`  kubectl --kubeconfig ${kubeconfig} get models`)
  if (facts.demoModel !== undefined && endpoints.gateway !== null) {
    lines.push(
      `  curl ${endpoints.gateway}/openai/v1/chat/completions -H 'Content-Type: application/json' \\`,
      `    -d '{"model":"${facts.demoModel}","messages":[{"role":"user","content":"Hello!"}]}'`,
    )
  }
  if (endpoints.gatewayExposed !== null)
    lines.push(`  curl --cacert ${ca} ${endpoints.gatewayExposed}/openai/v1/models`)
  lines.push(
    `  curl ${endpoints.management}/api/vks/v1/${endpoints.clusterId} \\`,
    `    -H "Authorization: plain Credential=${facts.accessKey},Signature=$(sed -n 's/.*"secretKey": "\\(.*\\)".*/\\1/p' ${shortest(facts.credentialsPath)})"`,
  )
  lines.push('', ...facts.notes.map((note) => `  ${note}`), '  Ctrl-C stops everything.', '')
  return lines.join('\n')
}

/** A machine may have many addresses; whoever needs another knows it. */
const mostShown = 4

/** Where other machines find what is served, if it is not for this one alone and that is not said already. */
function networkRows({ reachable, endpoints }: UpFacts): ReadonlyArray<readonly [string, string]> {
  const { gateway, controlPlane, management } = endpoints
  const local = [gateway === null ? [] : `${gateway}/`, controlPlane, management].flat()
  const urls = reachable.slice(0, mostShown).flatMap((address) => local.map((url) => atAddress(url, address)))
  const others = urls.filter((url) => !local.includes(url))
  return others.map((url, index) => [index === 0 ? 'On the network' : '', url])
}

function atAddress(url: string, address: string): string {
  const there = new URL(url)
  there.hostname = address.includes(':') ? `[${address}]` : address
  return url.endsWith('/') ? there.href : there.href.replace(/\/$/, '')
}

function openDoorWarning({ reachable, asksForKeys, endpoints }: UpFacts): string[] {
  if (reachable.length === 0 || asksForKeys || endpoints.gateway === null) return []
  return [
    '',
    '  WARNING: everybody who reaches this machine can use its models, and read what is asked: the gateway asks for',
    '  no key and is not encrypted. Start with --require-api-keys, and give people keys (`sluice key create NAME`).',
  ]
}

function shortest(path: string): string {
  const below = relative(process.cwd(), path)
  return below.startsWith('..') || below === '' ? path : below
}
