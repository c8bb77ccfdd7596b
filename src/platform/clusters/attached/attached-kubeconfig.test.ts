import { describe, expect, it } from 'vitest'
import { kubeconfigFault } from './attached-kubeconfig.ts'

const kubeconfig = (user: object, cluster: object = {}) =>
  JSON.stringify({
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'https://192.0.2.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })

describe('kubeconfigFault', () => {
  it.each([
    ['a token', kubeconfig({ token: 't' })],
    ['a certificate', kubeconfig({ 'client-certificate-data': 'Yw==', 'client-key-data': 'aw==' })],
    ['YAML', 'current-context: c\nclusters: [{name: c, cluster: {server: "https://192.0.2.1"}}]\nusers: []\n'],
  ])('has nothing against %s that is in it', async (_what, text) => {
    expect(await kubeconfigFault(text)).toBeUndefined()
  })

  it.each([
    ['a program', kubeconfig({ exec: { command: 'sh' } }), 'the user u has exec'],
    ['a provider', kubeconfig({ 'auth-provider': { name: 'gcp' } }), 'the user u has auth-provider'],
    ['a file with a token', kubeconfig({ tokenFile: '/etc/shadow' }), 'the user u has tokenFile'],
    ['a file with a key', kubeconfig({ 'client-key': '/etc/key' }), 'the user u has client-key'],
    ['a file with an authority', kubeconfig({}, { 'certificate-authority': '/etc/ca' }), 'certificate-authority-data'],
    ['no authority at all', kubeconfig({}, { 'insecure-skip-tls-verify': true }), 'insecure-skip-tls-verify'],
    ['something else', 'just a text', 'it is no kubeconfig'],
    ['broken YAML', '{', 'it is no kubeconfig'],
    ['aliases', 'current-context: &a c\nclusters: [*a, *a]', 'it is no kubeconfig'],
  ])('refuses %s', async (_what, text, why) => {
    expect(await kubeconfigFault(text)).toContain(why)
  })
})
