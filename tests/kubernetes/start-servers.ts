import type { TestProject } from 'vitest/node'
import type { ServerAddress } from './contract-server.ts'
import { startEmbeddedControlPlane } from './embedded-control-plane.ts'
import { missingControlPlane, startRealControlPlane } from './real-control-plane.ts'
import { serveOurKinds } from './serve-our-kinds.ts'

declare module 'vitest' {
  interface ProvidedContext {
    contractServers: readonly ServerAddress[]
    /** Why the requested server is missing. */
    missingServer: string | undefined
  }
}

/** Small, so that a test can outrun it. */
const historyLimit = 500

/** Starts the project's server before its files run. Both projects have the same files; only the server differs. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const real = project.name === 'kubernetes'
  const missing = real ? missingControlPlane() : undefined
  project.provide('missingServer', missing)
  if (missing !== undefined) {
    project.provide('contractServers', [])
    return async () => {}
  }
  const plane = real ? await startRealControlPlane({ audited: true }) : await startEmbeddedControlPlane(historyLimit)
  if (real) await serveOurKinds(plane.kubeconfig)
  const { kubeconfig, server, token, certificate, auditLog } = plane
  const name = real ? 'real' : 'embedded'
  project.provide('contractServers', [
    { name, kubeconfig, server, token, certificate, auditLog, historyLimit: real ? undefined : historyLimit },
  ])
  return () => plane.stop()
}
