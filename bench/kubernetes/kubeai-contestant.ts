import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { version } from '../../src/platform/version.ts'
import type { NodeStage } from '../../tests/kubernetes/node/node-stage.ts'
import { type WakeContestant, ask, settleMs, untilPodIsGone } from './wake-contestants.ts'

const image = `registry.local-1.localhost/sluice/llama-cpp:${version}`
/** Its manager takes its Lease when the one before could have expired. */
const untilItLeadsMs = 20_000

/** KubeAI's manager on the same node, with its CustomResourceDefinition. */
export async function kubeAi(stage: NodeStage, manager: string, definition: string): Promise<WakeContestant> {
  const { machine, client } = stage.cluster
  const where = 'kubeai'
  const model = (name: string) => ({
    apiVersion: 'kubeai.org/v1',
    kind: 'Model',
    metadata: { name, namespace: where },
    spec: {
      features: ['TextGeneration'],
      url: 'hf://bench/stub',
      engine: 'VLLM',
      resourceProfile: 'bench:1',
      minReplicas: 0,
      maxReplicas: 1,
      // The image is the stub, which vLLM's own defaults are unknown to.
      args: ['--host', '0.0.0.0', '--port', '8000'],
    },
  })
  const settings = {
    secretNames: { alibaba: 'a', aws: 'a', gcp: 'a', huggingface: 'a' },
    modelServers: { VLLM: { images: { default: image } } },
    modelLoading: { image: 'none' },
    resourceProfiles: { bench: { imageName: 'default', requests: { cpu: '500m', memory: '512Mi' } } },
    modelAutoscaling: { interval: '10s', timeWindow: '10m', stateConfigMapName: 'autoscaler' },
    modelServerPods: { serviceAccountName: 'default' },
    leaderElection: {},
    fixedSelfMetricAddrs: ['127.0.0.1:8080'],
  }
  const file = join(machine.folder, 'kubeai.yaml')
  writeFileSync(file, JSON.stringify(settings))
  await stage.kubectl(readFileSync(definition, 'utf8').replaceAll(/^\s*\{\{.*\}\}\s*$/gm, ''), 'apply', '-f', '-')
  await stage.kubectl('', 'create', 'namespace', where)
  await stage.kubectl('', '-n', where, 'create', 'configmap', 'autoscaler')
  const variables = [`KUBECONFIG=${join(machine.folder, 'admin')}`, `CONFIG_PATH=${file}`, `POD_NAMESPACE=${where}`]
  await machine.start('env', [...variables, manager])
  await sleep(untilItLeadsMs)
  return {
    name: 'KubeAI',
    client,
    namespace: where,
    label: 'model',
    async prepare(name) {
      await stage.kubectl(JSON.stringify(model(name)), 'apply', '-f', '-')
      await sleep(2 * settleMs)
    },
    ask: (name) => ask(`http://${machine.address}:8000`, name, (host, port) => machine.dial(host, port)),
    async remove(name) {
      await stage.kubectl('', '-n', where, 'delete', 'models.kubeai.org', name)
      await untilPodIsGone(client, where, 'model', name)
    },
    stop: () => machine.kill('env'),
  }
}
