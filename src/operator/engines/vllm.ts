import { type EnginePod, type ServeOrder, serveArguments } from './engine-pod.ts'

/**
 * vLLM. Its workers, one per card, communicate through shared memory, of which containers get too little by default.
 */
export function vllmPod(order: ServeOrder): EnginePod {
  return {
    image: 'vllm',
    args: serveArguments(order),
    requests: { cpu: String(order.cards), memory: `${4 * order.cards}Gi` },
    // A model of hundreds of gigabytes is read from shared storage before the first answer.
    startupSeconds: 2 * 60 * 60,
    graceSeconds: 60,
    volumes: [{ name: 'shared-memory', emptyDir: { medium: 'Memory' } }],
    volumeMounts: [{ name: 'shared-memory', mountPath: '/dev/shm' }],
  }
}
