import { defineConfig } from 'vitest/config'

// Three projects: `unit` sits beside the code and is fast; `integration` starts real parts (processes, sockets, a browser);
// `kubernetes` needs the binaries that KUBEBUILDER_ASSETS names.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/src/**/*.test.ts', 'tests/*.test.ts'],
          testTimeout: 20_000,
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
      {
        test: {
          name: 'kubernetes',
          include: ['tests/kubernetes/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
