import { defineConfig } from 'vitest/config'

// `unit` sits beside the code and is fast; `integration` starts real parts (processes, sockets, a browser); `contract` are
// client programs against the embedded API server, and `kubernetes` the same ones against a real kube-apiserver and etcd, which
// KUBEBUILDER_ASSETS names (without it they are skipped).
const clientPrograms = {
  include: ['tests/kubernetes/**/*.test.ts'],
  globalSetup: ['tests/kubernetes/start-servers.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  fileParallelism: false,
}

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/src/**/*.test.ts', 'tests/*.test.ts'],
          // Of what hangs: a machine that is busy with other things takes long for everything.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // All cores: the default leaves one idle, and of two that is half of the machine.
          maxWorkers: '100%',
        },
      },
      {
        test: {
          name: 'integration',
          include: ['tests/{integration,browser,faults}/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      { test: { name: 'contract', ...clientPrograms } },
      { test: { name: 'kubernetes', ...clientPrograms } },
    ],
  },
})
