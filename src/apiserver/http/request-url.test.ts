import { describe, expect, it } from 'vitest'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { KindRegistry } from '../kind-registry.ts'
import { parseRequestUrl, parseResourcePath } from './request-url.ts'

const kinds = new KindRegistry([...coreKinds, ...customKinds])

describe('a path', () => {
  it.each([
    ['/api/v1/pods', 'Pod', undefined, undefined, undefined],
    ['/api/v1/namespaces/a/pods', 'Pod', 'a', undefined, undefined],
    ['/api/v1/namespaces/a/pods/b', 'Pod', 'a', 'b', undefined],
    ['/api/v1/namespaces/a/pods/b/log', 'Pod', 'a', 'b', 'log'],
    ['/api/v1/namespaces/a/pods/b/proxy/x/y', 'Pod', 'a', 'b', 'proxy'],
    ['/api/v1/namespaces', 'Namespace', undefined, undefined, undefined],
    ['/api/v1/namespaces/a', 'Namespace', undefined, 'a', undefined],
    ['/api/v1/namespaces/a/finalize', 'Namespace', undefined, 'a', 'finalize'],
    ['/api/v1/nodes/n/status', 'Node', undefined, 'n', 'status'],
    ['/apis/sluice.dev/v1/namespaces/a/models/m/scale', 'Model', 'a', 'm', 'scale'],
    ['/apis/sluice.dev/v1/clusters/c', 'Cluster', undefined, 'c', undefined],
  ])('%s is about %s', (path, kind, namespace, name, subresource) => {
    const target = parseResourcePath(kinds, parseRequestUrl(path).segments)
    expect(target?.kind.kind).toBe(kind)
    expect([target?.namespace, target?.name, target?.subresource]).toEqual([namespace, name, subresource])
  })

  it.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v2/pods',
    '/api/v1/pods/x',
    '/api/v1/models',
    '/apis/sluice.dev/v1/namespaces/a/clusters/c',
    '/apis/sluice.dev/v1/namespaces/a/pods',
    '/api/v1/namespaces/a/pods/b/log/c',
    '/api/v1/namespaces/a/nodes/n',
  ])('%s is about no object', (path) => {
    expect(parseResourcePath(kinds, parseRequestUrl(path).segments)).toBeUndefined()
  })

  it.each(['/a/../b', '/a/%2e%2e/b', '/a/b%2fc', '/a//b', '/a/%00', '/a/%', '/a/%250a', 'a', `/${'a'.repeat(20_000)}`])(
    '%s is refused',
    (path) => {
      expect(() => parseRequestUrl(path)).toThrow(expect.objectContaining({ reason: 'BadRequest' }))
    },
  )
})
