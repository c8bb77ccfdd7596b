import { z } from 'zod'
import { clusterIdPattern } from '../../resources/cluster.ts'

/** Below the data directory, a folder for each cluster but the home cluster, by its ID. */
export const clustersFolder = 'clusters'
/** In such a folder: whose it is. */
export const clusterRecordFile = 'cluster.json'

const recordSchema = z.object({
  id: z.string().regex(clusterIdPattern),
  /** Of the Cluster that it is, or was, the data of. */
  name: z.string(),
  enterprise: z.string(),
  adminToken: z.string().min(32),
})
export type ClusterRecord = z.infer<typeof recordSchema>

/** Nothing where it cannot be read. */
export function parseClusterRecord(text: string): ClusterRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
