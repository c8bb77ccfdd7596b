import { describe, expect, it } from 'vitest'
import type { UpFacts } from '../platform/up.ts'
import { renderWelcome } from './welcome.ts'

const facts: UpFacts = {
  endpoints: {
    clusterId: 'vksa',
    management: 'http://127.0.0.1:8080',
    controlPlane: 'https://127.0.0.1:6443/vks/vksa',
    gateway: 'http://127.0.0.1:8000',
    exposure: 'https://127.0.0.1:22443',
    gatewayExposed: 'https://gateway-x-sluice-x-vksa.local-1.localhost:22443',
    registry: 'registry.local-1.localhost',
    ca: '/data/pki/ca.crt',
    pid: 1,
  },
  clusterName: 'home',
  dataDirectory: '/data',
  kubeconfigPath: '/data/kubeconfig',
  credentialsPath: '/data/credentials.json',
  accessKey: 'SLK',
  demoModel: undefined,
  cards: 'none',
  reachable: [],
  asksForKeys: false,
  notes: [],
}

describe('the banner', () => {
  it('says nothing of a network where only this machine can ask', () => {
    expect(renderWelcome(facts)).not.toMatch(/On the network|WARNING/)
  })

  it('shows where other machines find everything, and warns that anybody may ask', () => {
    const text = renderWelcome({ ...facts, reachable: ['192.0.2.7', '2001:db8::7'] })
    for (const url of ['http://192.0.2.7:8000/', 'https://192.0.2.7:6443/vks/vksa', 'http://[2001:db8::7]:8080'])
      expect(text).toContain(` ${url}\n`)
    expect(text).toMatch(/WARNING: everybody who reaches this machine can use its models/)
  })

  it('warns of nothing where keys are asked for, and says no address twice', () => {
    const { endpoints } = facts
    const at = (url: string) => url.replace('127.0.0.1', '192.0.2.7')
    const there = { ...endpoints, gateway: at('http://127.0.0.1:8000'), controlPlane: at(endpoints.controlPlane) }
    const one = { ...facts, endpoints: { ...there, management: at(endpoints.management) }, reachable: ['192.0.2.7'] }
    expect(renderWelcome({ ...one, asksForKeys: true })).not.toMatch(/On the network|WARNING/)
    expect(renderWelcome(one)).toMatch(/WARNING/)
  })
})
