import { SluiceError } from '../foundation/errors.ts'
import { centerCodePattern } from '../resources/compute-center.ts'
import { type NetworkChoice, type UpOptions, networkChoices } from '../platform/up-options.ts'
import { checkDirectory } from '../platform/data/check-directory.ts'
import { inUserNetwork } from '../platform/in-user-network.ts'
import type { Command, Flag } from './command.ts'
import { newDataDirectory } from './connection/cluster-place.ts'
import { writeContext } from './connection/context-file.ts'
import { exposureCertificate, exposureCertificateFlags } from './exposure-certificate.ts'
import { type ParsedFlags, parseFlags } from './flags.ts'
import { gatewayFlags, gatewaySettings } from './gateway-flags.ts'
import { stopSignal } from './roles/stop-signal.ts'
import { usageRetentionDays, usageRetentionFlag } from './usage/usage-retention.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'where everything is kept' },
  { name: 'host', value: 'ADDRESS', fallback: '127.0.0.1', help: 'the address to listen on' },
  { name: 'management-port', value: 'PORT', fallback: '8080', help: 'the management API; 0 picks a free port' },
  { name: 'control-plane-port', value: 'PORT', fallback: '6443', help: 'the Kubernetes API' },
  { name: 'gateway-port', value: 'PORT', fallback: '8000', help: 'the OpenAI gateway and the chat page' },
  { name: 'exposure-port', value: 'PORT', fallback: '22443', help: 'exposed services' },
  {
    name: 'exposure-domain',
    value: 'DOMAIN',
    help: 'the domain of exposed services: your own, or sslip.io, whose names lead to --host (at first: <center>.localhost)',
  },
  ...exposureCertificateFlags,
  { name: 'cluster', value: 'NAME', help: 'the name of the cluster (at first: home)' },
  {
    name: 'center',
    value: 'CODE',
    help: 'the code of the compute center, <site>-<n> (at first: local-1; fixed from then on)',
  },
  {
    name: 'gpus',
    value: 'KIND=COUNT,...',
    help: 'simulated cards, such as nvidia.com/gpu-l40s=4 (default: a small set)',
  },
  {
    name: 'nodes',
    value: 'COUNT',
    fallback: '1',
    help: 'how many nodes this machine is: each has the cards of --gpus, and an equal part of the rest',
  },
  { name: 'config', value: 'FILE', help: 'further images, engines and resource profiles (YAML or JSON)' },
  {
    name: 'idle-window',
    value: 'SECONDS',
    fallback: '600',
    help: 'without requests for so long, a model goes to sleep',
  },
  ...gatewayFlags,
  {
    name: 'gateway-workers',
    value: 'COUNT',
    help: 'threads that serve the gateway and exposed services (default: 1; with 8 cores or more 2 to 4)',
  },
  { name: 'finished-pods', value: 'COUNT', fallback: '1000', help: 'how many Pods that have finished are kept' },
  { name: 'event-ttl', value: 'SECONDS', fallback: '3600', help: 'how long Events are kept after their last change' },
  {
    name: 'audit-log-maxsize',
    value: 'MIB',
    fallback: '32',
    help: 'how large a file of the audit log becomes before another one is begun',
  },
  {
    name: 'audit-log-maxbackup',
    value: 'COUNT',
    fallback: '3',
    help: 'how many older files of the audit log are kept',
  },
  usageRetentionFlag,
  { name: 'no-card-preemption', help: 'do not give cards of idle models to those that somebody waits for' },
  {
    name: 'pod-network',
    value: 'KIND',
    fallback: 'detect',
    help: 'namespaces: every Pod has a network of its own; loopback: Pods share that of the machine; detect: what it permits',
  },
  { name: 'no-pod-ipv6', help: 'give Pods and Services no addresses of IPv6, though the machine has it' },
  { name: 'safe-mode', help: 'serve the Kubernetes API only, start no Pod, and say what is unusual' },
  { name: 'no-safe-mode', help: 'start as usual, though the starts before this one crashed' },
  { name: 'no-demo-model', help: 'do not create the model smollm2 nor fetch its file' },
  { name: 'no-gateway', help: 'leave out the gateway and the controller of models, for those that run in the cluster' },
]

export const upCommand: Command = {
  name: 'up',
  summary: 'Start a whole cluster on this machine: control plane, node, gateway, exposure, management API.',
  example: 'sluice up\nsluice up --data ~/sluice --gpus nvidia.com/gpu-l40s=4',
  flags,
  async run(args) {
    const asked = upOptions(parseFlags(flags, args))
    // Before the network of an ordinary user is made, which is kept in it.
    checkDirectory(asked.data)
    const options = { ...asked, userNetwork: inUserNetwork(asked) }
    const [{ startUp }, { renderWelcome }] = await Promise.all([import('../platform/up.ts'), import('./welcome.ts')])
    const running = await startUp(options, stopSignal(), (message) => console.error(`sluice: ${message}`))
    writeContext({ data: running.facts.dataDirectory })
    console.log(renderWelcome(running.facts))
    await running.ended
    return 0
  },
}

function checked(flag: string, text: string | undefined, pattern: RegExp, form: string): string | undefined {
  if (text === undefined || pattern.test(text)) return text
  throw new SluiceError('invalid_flag', { flag: `--${flag}`, reason: `"${text}" must have the form ${form}.` })
}

export function upOptions(parsed: ParsedFlags): UpOptions {
  const port = (name: string) => parsed.integer(name, { min: 0, max: 65_535 }) ?? 0
  const seconds = (name: string) => parsed.number(name, { min: 1, max: 30 * 24 * 3600 }) ?? 600
  return {
    data: newDataDirectory(parsed),
    host: parsed.text('host') ?? '127.0.0.1',
    ports: {
      management: port('management-port'),
      controlPlane: port('control-plane-port'),
      gateway: port('gateway-port'),
      exposure: port('exposure-port'),
    },
    exposureDomain: parsed.text('exposure-domain'),
    exposureCertificate: exposureCertificate(parsed),
    clusterName: checked('cluster', parsed.text('cluster'), /^.{1,253}$/, '1 to 253 characters'),
    center: checked('center', parsed.text('center'), centerCodePattern, '<site>-<n>, such as local-1'),
    gpus: parsed.text('gpus'),
    nodes: parsed.integer('nodes', { min: 1, max: 32 }),
    config: parsed.text('config'),
    idleWindowMs: seconds('idle-window') * 1000,
    ...gatewaySettings(parsed),
    gatewayWorkers: parsed.integer('gateway-workers', { min: 1, max: 64 }),
    finishedPodLimit: parsed.integer('finished-pods', { min: 0, max: 100_000 }),
    eventTtlMs: (parsed.number('event-ttl', { min: 60, max: 30 * 24 * 3600 }) ?? 3600) * 1000,
    auditLog: {
      fileBytes: (parsed.integer('audit-log-maxsize', { min: 1, max: 4_096 }) ?? 32) * 1024 * 1024,
      olderFiles: parsed.integer('audit-log-maxbackup', { min: 1, max: 100 }) ?? 3,
    },
    usageRetentionDays: usageRetentionDays(parsed),
    cardPreemption: !parsed.isSet('no-card-preemption'),
    podNetwork: podNetwork(parsed.text('pod-network')),
    podIpv6: !parsed.isSet('no-pod-ipv6'),
    safeMode: safeMode(parsed),
    demoModel: !parsed.isSet('no-demo-model'),
    gateway: !parsed.isSet('no-gateway'),
  }
}

function podNetwork(asked: string | undefined): NetworkChoice {
  const known = checked(
    'pod-network',
    asked,
    new RegExp(`^(?:${networkChoices.join('|')})$`),
    networkChoices.join(', '),
  )
  return networkChoices.find((one) => one === known) ?? 'detect'
}

function safeMode(parsed: ParsedFlags): boolean | undefined {
  if (parsed.isSet('no-safe-mode')) return false
  return parsed.isSet('safe-mode') ? true : undefined
}
