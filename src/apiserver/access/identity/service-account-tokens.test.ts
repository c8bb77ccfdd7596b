import { hash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { MemoryStore } from '../../../store/memory-store.ts'
import { ServiceAccountTokens } from './service-account-tokens.ts'
import { SigningKey } from './signing-key.ts'

const now = 1_800_000_000_000
const issuer = 'https://cluster/one'
const pem = SigningKey.generatePem()
let store: MemoryStore
let tokens: ServiceAccountTokens
let account: KubernetesObject

const key = (resource: string, name: string) => ({ resource, namespace: 'team', name })
const put = async (resource: string, name: string, uid: string) => {
  const metadata = { name, namespace: 'team', uid }
  return (await store.create(key(resource, name), { apiVersion: 'v1', kind: 'x', metadata })).object
}
const offered = (token: string) => ({ token, digest: hash('sha256', token, 'buffer') })
const issue = (more: object = {}) =>
  tokens.issue({ account, audiences: [issuer], expirationSeconds: 600, now, ...more })

beforeEach(async () => {
  store = new MemoryStore()
  tokens = new ServiceAccountTokens({ issuer, key: new SigningKey(pem), store })
  account = await put('serviceaccounts', 'bot', 'u1')
})

describe('a token', () => {
  it('is known until it expires', () => {
    const token = offered(issue())
    expect(tokens.verify(token, now)).toMatchObject({
      user: { name: 'system:serviceaccount:team:bot', uid: 'u1' },
      audiences: [issuer],
    })
    expect(tokens.verify(token, now + 599_000)).toBeDefined()
    expect(tokens.verify(token, now + 600_000)).toBeUndefined()
    expect(tokens.verify(token, now - 1_000)).toBeUndefined()
  })

  it('ends with its account, even if another comes under the same name', async () => {
    const token = offered(issue())
    expect(tokens.verify(token, now)).toBeDefined()
    await store.delete(key('serviceaccounts', 'bot'))
    expect(tokens.verify(token, now)).toBeUndefined()
    await put('serviceaccounts', 'bot', 'u2')
    expect(tokens.verify(token, now)).toBeUndefined()
  })

  it('ends with the Pod it is bound to, and names it', async () => {
    const pod = await put('pods', 'p', 'p1')
    const token = offered(issue({ bound: { kind: 'Pod', object: pod } }))
    expect(tokens.verify(token, now)?.user.extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['p'],
      'authentication.kubernetes.io/pod-uid': ['p1'],
    })
    await store.delete(key('pods', 'p'))
    expect(tokens.verify(token, now)).toBeUndefined()
  })

  it('says on which node the Pod is that it is bound to, and does not end with that node', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'here', uid: 'n1' } }
    await store.create({ resource: 'nodes', namespace: '', name: 'here' }, node)
    const pod = { ...(await put('pods', 'web', 'p1')), spec: { nodeName: 'here' } }
    const token = offered(issue({ bound: { kind: 'Pod', object: pod } }))
    const extra = {
      'authentication.kubernetes.io/node-name': ['here'],
      'authentication.kubernetes.io/node-uid': ['n1'],
      'authentication.kubernetes.io/pod-name': ['web'],
    }
    expect(tokens.verify(token, now)?.user.extra).toMatchObject(extra)
    await store.delete({ resource: 'nodes', namespace: '', name: 'here' })
    expect(tokens.verify(token, now)?.user.extra).toMatchObject(extra)
  })

  it('is for its audiences only', () => {
    const token = offered(issue({ audiences: ['vault'] }))
    expect(tokens.verify(token, now)).toBeUndefined()
    expect(tokens.verify(token, now, ['x', 'vault'])?.audiences).toEqual(['vault'])
  })

  it('outlives a restart with the same key, and no other key', () => {
    const token = offered(issue())
    expect(new ServiceAccountTokens({ issuer, key: new SigningKey(pem), store }).verify(token, now)).toBeDefined()
    const other = new SigningKey(SigningKey.generatePem())
    expect(new ServiceAccountTokens({ issuer, key: other, store }).verify(token, now)).toBeUndefined()
    const elsewhere = new ServiceAccountTokens({ issuer: 'https://cluster/two', key: new SigningKey(pem), store })
    expect(elsewhere.verify(token, now, [issuer])).toBeUndefined()
  })

  it('cannot be changed, nor choose how it is checked', () => {
    const [head = '', claims = '', signature = ''] = issue().split('.')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const stolen = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
    const forged = [
      `${head}.${encode({ ...stolen, sub: 'system:serviceaccount:team:root' })}.${signature}`,
      `${encode({ alg: 'none', kid: tokens.key.id })}.${claims}.`,
      `${encode({ alg: 'none', kid: tokens.key.id })}.${claims}.${signature}`,
      `${encode({ alg: 'HS256', kid: tokens.key.id })}.${claims}.${signature}`,
      `${head}.${claims}.${signature}.`,
      `${head}.${claims}.${signature.slice(2)}`,
      `${head}.${claims}`,
      'a'.repeat(20_000),
      '..',
      '',
    ]
    expect(forged.filter((token) => tokens.verify(offered(token), now))).toEqual([])
  })
})
