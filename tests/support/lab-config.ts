import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./lab-engine.ts', import.meta.url))

/** What the image of `lab-engine.ts` stands for on this machine. */
export const labImages = {
  'registry.local-1.localhost/tools/lab': { command: [process.execPath], visible: [program] },
}

/** It as an engine: nothing but data. */
export const labEngine = {
  image: '{registry}/tools/lab:v1',
  args: [program, '--weights', '{modelPath}', '--as', '{modelName}', '--listen', '{host}:{port}'],
  env: { CARDS: '{cards}' },
  port: 8123,
  healthPath: '/up',
  key: { flag: '--token' },
  startupSeconds: 120,
  graceSeconds: 1,
  sharedMemory: '16Mi',
}

/** One that says how far it is, which is what this file in the claim says, for as long as there is the file. */
export const tellingLabEngine = {
  ...labEngine,
  args: [...labEngine.args, '--load-as', '/mnt/models/models/load.json'],
  quietSeconds: 3,
}

/** One that hangs when it has written three lines, while there is this file in the claim. */
export const hangingLabEngine = {
  ...labEngine,
  args: [...labEngine.args, '--lines', '3', '--hang-while', '/mnt/models/models/hang'],
}
