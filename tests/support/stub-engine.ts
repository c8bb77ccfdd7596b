import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelStage } from './model-stage.ts'

/**
 * The program of an engine that answers with a stream: a piece every few milliseconds that says when it was sent, as
 * many as `max_tokens` asks for. Requests without a stream are answered at once.
 */
const engineOf = (everyMs: number) => `
  import { createServer } from 'node:http'
  const argument = (name) => process.argv[process.argv.indexOf(name) + 1]
  createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => (body += piece))
    request.on('end', () => {
      if (request.method === 'GET') return response.end('{}')
      const { stream, max_tokens } = JSON.parse(body)
      if (!stream) return response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let left = max_tokens
      const timer = setInterval(() => {
        if (left-- > 0) return response.write('data: {"sentAt":' + Date.now() + '}\\n\\n')
        clearInterval(timer)
        response.end('data: [DONE]\\n\\n')
      }, ${everyMs})
      response.on('close', () => clearInterval(timer))
    })
  }).listen(Number(argument('--port')), argument('--host'))
`

/**
 * Replaces every engine by the stub. With engine VLLM it takes any number of requests. To be called before the stage
 * starts.
 */
export function useStubEngine(stage: ModelStage, everyMs = 20): void {
  mkdirSync(join(stage.folder, 'models/tiny'), { recursive: true })
  writeFileSync(join(stage.folder, 'models/tiny/model.gguf'), 'GGUF'.padEnd(64))
  const command = [process.execPath, '--input-type=module', '-e', engineOf(everyMs), '--']
  const images = ['llama-cpp', 'vllm'].map((engine) => [`registry.local-1.localhost/sluice/${engine}`, { command }])
  const config = { images: Object.fromEntries(images) }
  writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
  stage.addFlags('--config', join(stage.data, 'config.yaml'))
}
