import { clusterClientContract } from '../../src/cluster/contract/cluster-client.contract.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  clusterClientContract(async () => ({
    client: server.client,
    async expiredVersion() {
      // The real server's watch cache of Models is younger than its first version; ours has to be outrun.
      const metadata = { generateName: 'old-', namespace: 'default' }
      for (let count = 0; count <= (server.address.historyLimit ?? 0) * 2; count += 1) {
        await server.client.create(configMapKind, { metadata })
      }
      return '1'
    },
    stop: async () => {},
  }))
})
