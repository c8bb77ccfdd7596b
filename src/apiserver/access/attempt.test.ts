import { expect, it } from 'vitest'
import { attemptOf, forbidden } from './attempt.ts'

const at = (method: string, url: string) => {
  const [path = '', query = ''] = url.split('?')
  return attemptOf(method, path.split('/').slice(1), new URLSearchParams(query))
}
const user = { name: 'ada', groups: [] }

it.each([
  ['GET', '/api/v1/namespaces/y/pods', 'list pods in y'],
  ['GET', '/api/v1/namespaces/y/pods?watch=true', 'watch pods in y'],
  ['GET', '/api/v1/namespaces/y/pods?watch=false', 'list pods in y'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', 'list pods x'],
  ['GET', '/api/v1/namespaces/y/pods/x/log', 'get pods x log in y'],
  ['HEAD', '/api/v1/namespaces/y/pods/x', 'get pods x in y'],
  ['POST', '/api/v1/namespaces/y/pods/x/binding', 'create pods x binding in y'],
  ['PUT', '/api/v1/namespaces/y/finalize', 'update namespaces y finalize in y'],
  ['GET', '/api/v1/namespaces/y', 'get namespaces y in y'],
  ['POST', '/api/v1/namespaces', 'create namespaces'],
  ['DELETE', '/apis/sluice.dev/v1/namespaces/y/models', 'deletecollection models.sluice.dev in y'],
  ['PATCH', '/apis/sluice.dev/v1/namespaces/y/models/m/scale', 'patch models.sluice.dev m scale in y'],
  ['GET', '/api/v1/namespaces/y/pods/x/proxy/a/b', 'get pods x proxy in y'],
  ['GET', '/apis/nowhere.io/v9/things/t', 'get things.nowhere.io t'],
])('%s %s is to %s', (method, url, expected) => {
  const attempt = at(method, url)
  if (attempt.type !== 'resource') throw new Error('not about a resource')
  const { verb, group, resource, name, subresource, namespace } = attempt
  const words = [verb, group === '' ? resource : `${resource}.${group}`, name, subresource]
  expect([...words, namespace && `in ${namespace}`].filter(Boolean).join(' ')).toBe(expected)
})

it.each(['/healthz', '/api', '/api/v1', '/apis/apps', '/apis/apps/v1', '/openapi/v3/api/v1', '/metrics'])(
  '%s is a path',
  (path) => {
    expect(at('GET', path)).toEqual({ type: 'path', verb: 'get', path })
  },
)

it('refuses in the sentences of the real server', () => {
  const sentence = (method: string, url: string, reason = '') => forbidden(user, at(method, url), reason).message
  expect(sentence('GET', '/apis/sluice.dev/v1/namespaces/y/models')).toBe(
    'models.sluice.dev is forbidden: User "ada" cannot list resource "models" in API group "sluice.dev" in the namespace "y"',
  )
  expect(sentence('GET', '/api/v1/namespaces/y/pods/x/log')).toBe(
    'pods "x" is forbidden: User "ada" cannot get resource "pods/log" in API group "" in the namespace "y"',
  )
  expect(sentence('POST', '/api/v1/namespaces', 'RBAC: role "r" not found')).toBe(
    'namespaces is forbidden: User "ada" cannot create resource "namespaces" in API group "" at the cluster scope: RBAC: role "r" not found',
  )
  expect(sentence('GET', '/metrics')).toBe('forbidden: User "ada" cannot get path "/metrics"')
})
