import { writeFileSync } from 'node:fs'
import { FileTree } from '../../scripts/artefacts/file-tree.ts'
import { nodeLayer, systemLayer } from '../../scripts/artefacts/image-layers.ts'
import { ociArchive, packLayer } from '../../scripts/artefacts/oci-image.ts'
import { thisMachine } from '../../scripts/artefacts/platform.ts'
import { program } from '../../scripts/artefacts/repository.ts'

/**
 * An engine that is ready as soon as it runs, and says in every answer since when, in milliseconds since the Unix
 * epoch. Like a real one it answers a request of its own first, so that the cost of a first answer is not Sluice's.
 */
export const stubEngine = `
  const { createServer, request } = require('node:http')
  const argument = (name) => process.argv[process.argv.indexOf(name) + 1]
  const [host, port] = [argument('--host'), Number(argument('--port'))]
  let readyAt = Infinity
  createServer((request, response) => {
    request.resume()
    response.writeHead(readyAt === Infinity ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ readyAt }))
  }).listen(port, host, () => {
    const own = { host, port, method: 'POST', path: '/v1/chat/completions' }
    request(own, (answer) => answer.resume().on('end', () => {
      readyAt = performance.timeOrigin + performance.now()
    })).end('{}')
  })
  process.on('SIGTERM', () => process.exit())
`

/** The stub as the image of the engine LlamaCpp. */
export async function writeStubImage(file: string): Promise<void> {
  const machine = thisMachine()
  // KubeAI runs vLLM by this name.
  const python = `#!/usr/bin/node\n${stubEngine}`
  const stub = new FileTree().addText('usr/bin/stub', stubEngine).addText('usr/bin/python3', python, 0o755)
  const layers = await Promise.all([systemLayer(machine), nodeLayer(machine), stub].map(packLayer))
  const about = { description: 'Stands in for an engine.', entrypoint: ['/usr/bin/node', '/usr/bin/stub'], layers }
  const images = [{ name: `sluice/llama-cpp:${program.version}`, ...about }]
  writeFileSync(file, ociArchive([{ architecture: machine.architecture, images }]))
}
