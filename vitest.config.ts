import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// `unit` tests are beside the code and fast. `integration` tests start real parts (processes, sockets), `browser` tests
// a real browser, too.
// `contract` tests run client programs against the embedded API server, and `kubernetes` runs the same ones against a
// real kube-apiserver and etcd from the folder that KUBEBUILDER_ASSETS names; without it they are skipped. What needs a
// real node, too, is in tests/kubernetes/node and part of `kubernetes` only.
const clientPrograms = {
  include: ['tests/kubernetes/**/*.test.ts'],
  globalSetup: ['tests/kubernetes/start-servers.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  fileParallelism: false,
  // One process for all files, that imports everything once.
  isolate: false,
}

/** How many files at once. Half of the time they wait for programs they started, which do not always have work. */
const workers = Math.ceil(1.5 * availableParallelism())

/** Only for tests that hang: a busy machine takes long for everything. */
const patient = { poll: { timeout: 20_000, interval: 20 } }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/src/**/*.test.ts', 'web/console/src/**/*.test.ts', 'tests/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: workers,
          // A process for each file would import everything anew: that was a third of the time.
          isolate: false,
          expect: patient,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['tests/browser/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          expect: patient,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['tests/{integration,faults}/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // Each may be a whole platform, so few even where there are many cores.
          maxWorkers: Math.min(workers, 4),
          isolate: false,
          expect: patient,
        },
      },
      { test: { name: 'contract', expect: patient, ...clientPrograms, exclude: ['tests/kubernetes/node/**'] } },
      { test: { name: 'kubernetes', expect: patient, ...clientPrograms } },
    ],
  },
})
