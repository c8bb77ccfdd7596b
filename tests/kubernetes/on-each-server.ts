// The contract suite: client programs that are given a kubeconfig and nothing else. The project `contract` (part of
// `npm test`) runs it against the embedded server, the project `kubernetes` (`npm run test:kubernetes`) against a real
// kube-apiserver with etcd. There is one server per run, started by start-servers.ts and shared by all files. What a
// test finds in `server`:
//
//     onEachServer((server) => {
//       …
//         // raw HTTP
//         await server.http('POST', server.path('configmaps'), { metadata: { name: 'a' } })
//         // the typed client
//         await server.client.get(configMapKind, { name: 'a', namespace: server.namespace })
//         // real kubectl, which must succeed
//         await server.kubectl('get configmap a -o name')
//       …
//     })
//
// Every test has a namespace of its own, `server.namespace`, which kubectl uses, too. Where the embedded server differs
// on purpose, `server.differs('…')` names it: differences.ts has the list, and docs/explanation/architecture.md must
// have the same. One file (with `--project kubernetes` and KUBEBUILDER_ASSETS for the real server):
//
//     vitest run --project contract tests/kubernetes/NAME.test.ts
import { afterAll, beforeAll, beforeEach, describe, inject } from 'vitest'
import { ContractServer, absentServer } from './contract-server.ts'

/** Declares the tests once for each server of this run. The tests of a missing server are skipped, saying why. */
export function onEachServer(declare: (server: ContractServer) => void): void {
  const missing = inject('missingServer')
  const addresses = missing === undefined ? inject('contractServers') : [absentServer]
  for (const address of addresses) {
    const server = new ContractServer(address)
    describe.skipIf(missing !== undefined)(`the ${address.name} server${missing ? ` (${missing})` : ''}`, () => {
      beforeAll(() => server.connect())
      beforeEach((test) => {
        // A test that needs a kubectl which is missing is skipped, saying so.
        server.skipTest = (why) => test.skip(why)
        return server.openNamespace()
      })
      afterAll(() => server.disconnect())
      declare(server)
    })
  }
}
