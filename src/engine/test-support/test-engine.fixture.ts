import { EventEmitter } from 'node:events'
import { z } from 'zod'
import { createLogger, silentLogger } from '../../foundation/log.ts'
import { type RunningEngine, type ServeOptions, startEngine } from '../serve.ts'

const logLine = z.object({
  endpoint: z.string().optional(),
  code: z.string().optional(),
  completionTokens: z.number().optional(),
})

export const json = { 'content-type': 'application/json' }

/** Starts an engine for a test, on a free port and without cards. */
export function startTestEngine(options: Partial<ServeOptions> & { modelPath: string }, log = silentLogger) {
  return startEngine({ host: '127.0.0.1', port: 0, ...options }, { log, environment: {} })
}

/** A logger whose lines are also events, so that a test can wait for the end of a request that its client has left. */
export function observedLogger() {
  const finished = new EventEmitter()
  const lines: string[] = []
  const destination = {
    write: (line: string) => {
      lines.push(line)
      const fields = logLine.parse(JSON.parse(line))
      if (fields.endpoint) finished.emit(fields.code ?? 'answered', fields)
    },
  }
  return { log: createLogger({ destination }), finished, lines }
}

export function post(
  engine: RunningEngine,
  path: string,
  body: object | string,
  headers: Record<string, string> = json,
): Promise<Response> {
  return fetch(`${engine.address.url}${path}`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Starts a streamed answer and waits for its first bytes. */
export async function openStream(engine: RunningEngine, body: object) {
  const leave = new AbortController()
  const response = await fetch(`${engine.address.url}/v1/chat/completions`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ stream: true, ...body }),
    signal: leave.signal,
  })
  if (!response.body) throw new Error('a stream without a body')
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  const rest = async () => {
    let text = ''
    for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value
    return text
  }
  return { rest, leave: () => leave.abort() }
}
