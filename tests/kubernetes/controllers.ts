import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { WorkloadControllers } from '../../src/workloads/workload-controllers.ts'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'
import type { WireObject } from './wire-object.ts'

export interface Controllers {
  stop(): Promise<void>
}

const controllerNames = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'job-controller',
  'ttl-after-finished-controller',
  'garbage-collector-controller',
]

/** Why the controllers of a server cannot be started. */
export function missingControllers(isReal: boolean): string | undefined {
  const program = controllerManager()
  return !isReal || existsSync(program) ? undefined : 'KUBEBUILDER_ASSETS has no kube-controller-manager'
}

/**
 * Starts the controllers that create Pods for Deployments and the like, for the tests that are about them; all other
 * tests have a server without. Ours work over the wire here, as the real ones do.
 */
export async function startControllers(server: ContractServer): Promise<Controllers> {
  return server.isReal ? startControllerManager(server.address.kubeconfig) : startOurs(server)
}

async function startOurs(server: ContractServer): Promise<Controllers> {
  const client = await connectKubernetes(server.address.kubeconfig)
  const finalizeNamespace = async (name: string) => {
    await server.http('PUT', `/api/v1/namespaces/${name}/finalize`, { metadata: { name }, spec: { finalizers: [] } })
  }
  const controllers = new WorkloadControllers({ client, finalizeNamespace, clock: systemClock, log: silentLogger })
  await controllers.start(AbortSignal.timeout(30_000))
  return {
    async stop() {
      await controllers.stop()
      client.close()
    },
  }
}

function startControllerManager(kubeconfig: string): Controllers {
  const child: ChildProcess = spawn(
    controllerManager(),
    [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllerNames.join(',')}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      '--secure-port=0',
    ],
    { stdio: 'ignore' },
  )
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

function controllerManager(): string {
  return join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'kube-controller-manager')
}

/** Like `onEachServer`, with the controllers running during the file's tests. */
export function withControllers(declare: (server: ContractServer) => void): void {
  onEachServer((server) => {
    describe.skipIf(missingControllers(server.isReal) !== undefined)('with its controllers', () => {
      let controllers: Controllers | undefined
      beforeAll(async () => {
        controllers = await startControllers(server)
      })
      afterAll(() => controllers?.stop())
      declare(server)
    })
  })
}

/** How long a controller may take on a busy machine. */
export const soon = { timeout: 30_000, interval: 20 }

type Fields = Readonly<Record<string, unknown>>

/** Reports what a node would: these tests have none. */
export async function reportPod(server: ContractServer, pod: WireObject, status: Fields): Promise<void> {
  await server.patch(server.path(`pods/${pod.metadata.name}/status`), 'merge', { status })
}

export function readyStatus(): Fields {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  return { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] }
}

/** Makes every Pod ready, including those created meanwhile, until the condition holds. */
export async function keepReady(server: ContractServer, isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(async () => {
      const { items } = await server.ok('GET', server.path('pods'))
      for (const pod of items) {
        const { phase } = pod['status'] as { phase?: string }
        if (phase === 'Pending') await reportPod(server, pod, readyStatus())
      }
      return isDone()
    }, soon)
    .toBe(true)
}
