import type { Peer } from './peers.ts'

const chatBody = (stream: boolean, model = 'bench') =>
  JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Say hello to the people who read this benchmark, please, and nothing more.' }],
    max_tokens: 16,
    temperature: 0.7,
    ...(stream && { stream: true }),
  })

export function requestBytes(peer: Peer, options: { events?: number; model?: string } = {}): Buffer {
  const body = chatBody(options.events !== undefined, options.model)
  const model = peer.asksForModelInHead && options.model !== undefined ? `x-bench-model: ${options.model}\r\n` : ''
  const events = options.events === undefined ? '' : `x-bench-events: ${options.events}\r\n`
  return Buffer.from(
    `POST ${peer.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: */*\r\nuser-agent: bench\r\n` +
      `${peer.headers}${model}${events}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
