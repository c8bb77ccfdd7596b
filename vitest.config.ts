import { defineConfig } from 'vitest/config'

// `unit` tests are beside the code and fast. `integration` tests start real parts (processes, sockets, a browser).
// `contract` tests run client programs against the embedded API server, and `kubernetes` runs the same ones against a
// real kube-apiserver and etcd from the folder that KUBEBUILDER_ASSETS names; without it they are skipped.
const clientPrograms = {
  include: ['tests/kubernetes/**/*.test.ts'],
  globalSetup: ['tests/kubernetes/start-servers.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  fileParallelism: false,
}

/** Only for tests that hang: a busy machine takes long for everything. */
const patient = { poll: { timeout: 20_000, interval: 20 } }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/src/**/*.test.ts', 'tests/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // The default leaves one core idle, which on two cores is half of the machine.
          maxWorkers: '100%',
          expect: patient,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['tests/{integration,browser,faults}/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          expect: patient,
        },
      },
      { test: { name: 'contract', expect: patient, ...clientPrograms } },
      { test: { name: 'kubernetes', expect: patient, ...clientPrograms } },
    ],
  },
})
