import { afterAll, beforeAll, beforeEach, describe, inject } from 'vitest'
import { ContractServer } from './contract-server.ts'
import { startEmbeddedControlPlane } from './embedded-control-plane.ts'
import { type ControlPlane, startRealControlPlane } from './real-control-plane.ts'

export const ipv6Range = 'fd00:96::/112'

const startDeadlineMs = 120_000

/**
 * Declares tests for a server whose Services have addresses of both families, the second from `ipv6Range`; the run's
 * other servers have one. It is started for the file, and is real if the run's is.
 */
export function onDualStackServer(declare: (server: () => ContractServer) => void): void {
  const missing = inject('missingServer')
  const isReal = missing !== undefined || inject('contractServers').some(({ name }) => name === 'real')
  const name = isReal ? 'real' : 'embedded'
  let plane: ControlPlane | undefined
  let server: ContractServer | undefined
  const get = () => {
    if (!server) throw new Error('the server is there within tests only')
    return server
  }
  describe.skipIf(missing !== undefined)(
    `the ${name} server with two families${missing ? ` (${missing})` : ''}`,
    () => {
      beforeAll(async () => {
        plane = isReal
          ? await startRealControlPlane({ ipv6Range })
          : await startEmbeddedControlPlane(undefined, ipv6Range)
        server = new ContractServer({ ...plane, name, historyLimit: undefined })
        await server.connect()
      }, startDeadlineMs)
      beforeEach(() => get().openNamespace())
      afterAll(async () => {
        server?.disconnect()
        await plane?.stop()
      })
      declare(get)
    },
  )
}
