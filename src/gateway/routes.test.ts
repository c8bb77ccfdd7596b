import { describe, expect, it } from 'vitest'
import { matchRoute } from './routes.ts'

describe('matchRoute', () => {
  it.each([
    ['POST', '/openai/v1/chat/completions', 'inference', '/v1/chat/completions'],
    ['POST', '/openai/v1/completions', 'inference', '/v1/completions'],
    ['POST', '/openai/v1/embeddings', 'inference', '/v1/embeddings'],
    ['POST', '/openai/v1/audio/transcriptions', 'inference', '/v1/audio/transcriptions'],
    ['POST', '/openai/v1/audio/translations', 'inference', '/v1/audio/translations'],
    ['POST', '/openai/v1/audio/speech', 'inference', '/v1/audio/speech'],
    ['POST', '/openai/v1/rerank', 'inference', '/v1/rerank'],
    ['POST', '/openai/v1/images/generations', 'inference', '/v1/images/generations'],
    ['POST', '/openai/v1/images/edits', 'inference', '/v1/images/edits'],
    ['POST', '/v1/chat/completions', 'inference', '/v1/chat/completions'],
    ['PATCH', '/openai/api/v1/a/b', 'pass-through', '/api/v1/a/b'],
    ['GET', '/openai/gradio_api/v1/queue/join', 'pass-through', '/gradio_api/v1/queue/join'],
    ['DELETE', '/openai/api/v1/', 'pass-through', '/api/v1/'],
    ['GET', '/openai/api/v1/file.txt', 'pass-through', '/api/v1/file.txt'],
  ])('%s %s is %s to %s', (method, path, kind, upstreamPath) => {
    expect(matchRoute(method, path)).toMatchObject({ found: 'route', route: { kind, upstreamPath } })
  })

  it.each([
    ['GET', '/openai/v1/models', { kind: 'models' }],
    ['HEAD', '/v1/models', { kind: 'models' }],
    ['GET', '/openai/v1/models/smollm2', { kind: 'model', id: 'smollm2' }],
    ['GET', '/v1/models/a%20b', { kind: 'model', id: 'a b' }],
    ['GET', '/openai/v1/models/meta-llama/Llama-3.1%2F8B', { kind: 'model', id: 'meta-llama/Llama-3.1/8B' }],
    ['GET', '/healthz', { kind: 'health' }],
    ['GET', '/readyz', { kind: 'readiness' }],
    ['GET', '/metrics', { kind: 'metrics' }],
  ])('%s %s is the gateway’s own', (method, path, route) => {
    expect(matchRoute(method, path)).toMatchObject({ found: 'route', route })
  })

  it.each([
    ['GET', '/openai/v1/chat/completions', ['POST']],
    ['DELETE', '/openai/v1/models', ['GET', 'HEAD']],
    ['POST', '/v1/models/x', ['GET', 'HEAD']],
  ])('%s %s is refused, naming %s', (method, path, methods) => {
    expect(matchRoute(method, path)).toEqual({ found: 'method-refused', methods })
  })

  it.each([
    '/openai/v1/chat/completions/',
    '/openai/v1/Models',
    '/openai/v1/images/others',
    '/openai/v1/models/%ff',
    '/openai//v1/models',
    '/api/v1/x',
    '/openai/api/v2/x',
    '/openai/api/v1',
    '/openai/api/v1/../../v1/chat/completions',
    '/openai/api/v1/..',
    '/openai/api/v1/./x',
    '/openai/api/v1/%2e%2e/x',
    '/openai/api/v1/.%2E/x',
    '/openai/api/v1/x%2f..%2fy',
    '/openai/api/v1/x\\..\\y',
    '/openai/api/v1/..;/x',
  ])('%s does not exist', (path) => {
    expect(matchRoute('POST', path)).toEqual({ found: 'nothing' })
  })
})
