import type { Engine, EngineTable } from './engine.ts'

/**
 * Not the gateway's default port: where Pods are processes of the same machine, a gateway that listens on every address
 * would occupy it on every Pod's address, too.
 */
const port = 8900

/** What an engine has that says nothing else. */
export const engineDefaults = {
  args: [],
  port,
  healthPath: '/health',
  startupSeconds: 60 * 60,
  stalledSeconds: 30 * 60,
  quietSeconds: 30,
  graceSeconds: 30,
} satisfies Partial<Engine>

/** `vllm serve` and `sluice serve` take the same. */
const serveArguments = [
  '{modelPath}',
  '--host',
  '{host}',
  '--port',
  '{port}',
  '--served-model-name',
  '{modelName}',
  '--tensor-parallel-size',
  '{cards}',
]

/** Known everywhere; a cluster's operator may change them or add others. */
export const builtInEngines = {
  /**
   * `sluice serve` on the CPU. It holds its cards like any engine, so that billing and placement work the same.
   */
  LlamaCpp: {
    ...engineDefaults,
    image: '{registry}/sluice/llama-cpp:{version}',
    args: serveArguments,
    key: { variable: 'LLAMA_API_KEY' },
    requestCapacity: 64,
    requests: { cpu: '500m', memory: '512Mi' },
    // A slow disk is given its time, because it is told from one that hangs: the engine says how much it has read.
    stalledSeconds: 10 * 60,
    files: 'gguf',
    options: [
      '--host',
      '--port',
      '--served-model-name',
      '--tensor-parallel-size',
      '--gpu-memory-utilization',
      '--num-scheduler-steps',
      '--max-model-len',
      '--max-num-seqs',
      '--trust-remote-code',
      '--api-key',
      '--threads',
    ],
    group: 'none',
  },
  VLLM: {
    ...engineDefaults,
    image: '{registry}/sluice/vllm:{version}',
    args: serveArguments,
    key: { variable: 'VLLM_API_KEY' },
    responses: true,
    adapters: { args: ['--enable-lora', '--lora-modules'], each: '{adapterName}={adapterPath}' },
    requestsPerCard: { cpu: '1', memory: '4Gi' },
    // A model of hundreds of gigabytes is read from shared storage before the first answer.
    startupSeconds: 2 * 60 * 60,
    progressLines: ['checkpoint shards: {percent}% Completed'],
    graceSeconds: 60,
    // Its workers, one per card, communicate through shared memory, of which containers get too little by default.
    sharedMemory: 'unlimited',
    // Its own way, without Ray: every member runs the same command, and all but the leader without an HTTP server.
    group: {
      args: [
        '--distributed-executor-backend',
        'mp',
        '--nnodes',
        '{groupSize}',
        '--node-rank',
        '{groupRank}',
        '--master-addr',
        '{groupLeader}',
        '--master-port',
        '29500',
      ],
      workerArgs: ['--headless'],
      // At which address it tells the others that it is.
      env: { VLLM_HOST_IP: '{host}' },
      unless: ['--distributed-executor-backend', '--nnodes', '--node-rank', '--master-addr'],
    },
  },
} satisfies EngineTable
