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
    ['Management API', endpoints.management],
    ['Data', shortest(facts.dataDirectory)],
    ['Cards', facts.cards],
  ]
  const lines = ['', `Sluice is up: cluster ${facts.clusterName} (${endpoints.clusterId})`, '']
  for (const [name, value] of rows) if (value !== null) lines.push(`  ${name.padEnd(15)} ${value}`)
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

function shortest(path: string): string {
  const below = relative(process.cwd(), path)
  return below.startsWith('..') || below === '' ? path : below
}
