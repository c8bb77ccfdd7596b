import { systemClock } from '../../foundation/clock.ts'
import { runWeights } from './weights-program.ts'

// Runs as the container would, and kills itself at the step that it is told, the hard way.

const [claimFolder = '', cacheFolder = '', linkFolder = '', killAt = '', size = ''] = process.argv.slice(2)
let steps = 0

await runWeights({
  source: { claimFolder, claimName: 'userdata', path: 'models/m' },
  cacheFolder,
  size: Number(size),
  linkFolder,
  listen: { host: '127.0.0.1', port: 0 },
  clock: systemClock,
  signal: new AbortController().signal,
  print: () => {},
  step: (name) => {
    steps += 1
    console.log(`${steps} ${name}`)
    if (steps === Number(killAt)) process.kill(process.pid, 'SIGKILL')
  },
})
