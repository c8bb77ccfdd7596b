import { type EnginePod, type ServeOrder, serveArguments } from './engine-pod.ts'

/**
 * The built-in engine: `sluice serve` on the CPU. It holds its cards like any engine, so that billing and placement
 * work the same.
 */
export function llamaCppPod(order: ServeOrder): EnginePod {
  return {
    image: 'llama-cpp',
    args: serveArguments(order),
    requests: { cpu: '500m', memory: '512Mi' },
    startupSeconds: 15 * 60,
    graceSeconds: 30,
    volumes: [],
    volumeMounts: [],
  }
}
