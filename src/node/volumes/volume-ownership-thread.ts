import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { givingToGroup } from './volume-ownership.ts'

const { folder, owner } = z
  .object({ folder: z.string(), owner: z.object({ gid: z.int(), readOnly: z.boolean().exactOptional() }) })
  .parse(workerData)
const steps = givingToGroup(folder, owner)
while (steps.next().done !== true);
parentPort?.postMessage('given', [])
