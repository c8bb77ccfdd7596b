import { SluiceError } from '../../foundation/errors.ts'
import { centerCodePattern } from '../../resources/compute-center.ts'
import type { Command } from '../command.ts'
import { usageRetentionDays, usageRetentionFlag } from '../usage/usage-retention.ts'
import { millisecondsOf, roleCommand } from './role-flags.ts'

export const controllerCommand: Command = roleCommand(
  {
    name: 'controller',
    summary: 'Run the operator and the autoscaler of a Kubernetes cluster. Of several, one leads.',
    example: 'sluice controller --kubeconfig ~/.kube/config',
    flags: [
      { name: 'cluster', value: 'NAME', fallback: 'home', help: 'what the cluster is called' },
      { name: 'enterprise', value: 'NAME', fallback: 'home', help: 'whose cluster it is' },
      { name: 'center', value: 'CODE', fallback: 'local-1', help: 'the code of its compute center, <site>-<n>' },
      {
        name: 'registry',
        value: 'HOST',
        help: 'where images come from, until the ComputeCenter says it (default: registry.<center>.localhost)',
      },
      {
        name: 'proxy-domain',
        value: 'DOMAIN',
        help: 'below which services are exposed, until the ComputeCenter says it (default: <center>.localhost)',
      },
      { name: 'config', value: 'FILE', help: 'engines and resource profiles (YAML or JSON)' },
      {
        name: 'idle-window',
        value: 'SECONDS',
        fallback: '600',
        help: 'without requests for so long, a model goes to sleep',
      },
      usageRetentionFlag,
      { name: 'no-card-preemption', help: 'do not give cards of idle models to those that somebody waits for' },
    ],
  },
  async (common, parsed, signal) => {
    const { startController } = await import('../../platform/kubernetes/controller-program.ts')
    const { centerFacts } = await import('../../platform/home-resources.ts')
    const usual = centerFacts(checkedCenter(parsed.text('center') ?? ''))
    const options = {
      ...common,
      clusterName: parsed.text('cluster') ?? 'home',
      enterprise: parsed.text('enterprise') ?? 'home',
      center: {
        code: usual.code,
        registry: parsed.text('registry') ?? usual.registry,
        proxyDomain: parsed.text('proxy-domain') ?? usual.proxyDomain,
      },
      config: parsed.text('config'),
      idleWindowMs: millisecondsOf(parsed, 'idle-window', 600),
      usageRetentionDays: usageRetentionDays(parsed),
      cardPreemption: !parsed.isSet('no-card-preemption'),
    }
    return startController(options, signal)
  },
)

function checkedCenter(code: string): string {
  if (centerCodePattern.test(code)) return code
  const reason = `"${code}" must have the form <site>-<n>, such as local-1.`
  throw new SluiceError('invalid_flag', { flag: '--center', reason })
}
