import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from './cluster-place.ts'
import { apiKeyOf, findGateway, gatewayAddressFlags, gatewayIfKnown } from './gateway-address.ts'

const data = mkdtempSync(join(tmpdir(), 'sluice-gateway-'))
afterAll(() => rmSync(data, { recursive: true }))
const endpoints = {
  clusterId: 'vks1',
  management: 'http://127.0.0.1:8080',
  controlPlane: 'https://127.0.0.1:6443/vks/vks1',
  gateway: 'http://127.0.0.1:8000',
  exposure: 'https://127.0.0.1:22443',
  gatewayExposed: null,
  registry: 'registry.local-1.localhost',
  ca: 'pki/ca.crt',
  pid: 7,
}
const parse = (...args: string[]) => parseFlags([...clusterFlags, ...gatewayAddressFlags], args)

describe('the gateway', () => {
  it('is named by a flag, by the environment, or by the data directory', () => {
    const inData = parse('--data', data)
    expect(() => findGateway(inData, {})).toThrow('sluice up --data')
    writeFileSync(join(data, 'endpoints.json'), JSON.stringify(endpoints))
    expect(findGateway(inData, {})).toBe('http://127.0.0.1:8000')
    expect(findGateway(inData, { SLUICE_GATEWAY: 'https://b.example.com' })).toBe('https://b.example.com')
    expect(findGateway(parse('--gateway', 'https://a.example.com/'), {})).toBe('https://a.example.com')
    expect(() => findGateway(parse('--gateway', 'a.example.com'), {})).toThrow('is not an address')
  })

  it('is not known where there is none, or where only a kubeconfig is', () => {
    const without = join(data, 'without')
    mkdirSync(without)
    writeFileSync(join(without, 'endpoints.json'), JSON.stringify({ ...endpoints, gateway: null }))
    expect(findGateway(parse('--data', without), {})).toBeUndefined()
    expect(() => gatewayIfKnown(parse('--data', without))).toThrow('--gateway URL')
    expect(gatewayIfKnown(parse('--kubeconfig', 'k'))).toBeUndefined()
  })

  it('gets a key from a flag or the environment', () => {
    expect(apiKeyOf(parse('--api-key', 'sk-a'), { SLUICE_API_KEY: 'sk-b' })).toBe('sk-a')
    expect(apiKeyOf(parse(), { SLUICE_API_KEY: 'sk-b' })).toBe('sk-b')
    expect(apiKeyOf(parse(), {})).toBeUndefined()
  })
})
