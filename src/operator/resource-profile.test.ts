import { describe, expect, it } from 'vitest'
import { parseProfiles } from './profile-file.ts'
import { builtInProfiles, knownProfiles, profileResources, resolveProfile } from './resource-profile.ts'

const l40s = 'nvidia.com/gpu-l40s'
const h200 = 'nvidia.com/gpu-h200'

describe('which card a profile means', () => {
  it.each([
    ['a built-in one, whether or not its card is there', 'nvidia.com/gpu-h800', [], 'nvidia.com/gpu-h800'],
    ['a kind of card that the cluster has', h200, [h200], h200],
    ['a kind that it does not have', h200, [l40s], undefined],
    ['default: the first kind', 'default', [h200, l40s], h200],
    ['default without any card', 'default', [], undefined],
    ['a name that every object has', 'constructor', [l40s], undefined],
  ])('%s', (_name, profile, cardKinds, card) => {
    expect(resolveProfile(profile, { table: builtInProfiles, cardKinds })?.card).toBe(card)
  })

  it('is what the table says', () => {
    const table = parseProfiles({ default: { card: h200 }, 'nvidia.com/gpu-l40s-spot': { card: l40s } }, '--config')
    const facts = { table, cardKinds: [l40s] }
    expect(resolveProfile('default', facts)?.card).toBe(h200)
    expect(resolveProfile('nvidia.com/gpu-l40s-spot', facts)?.card).toBe(l40s)
    expect(knownProfiles(facts)).toEqual(['default', 'nvidia.com/gpu-h800', l40s, 'nvidia.com/gpu-l40s-spot'])
  })
})

it('may count what a device plugin of another vendor calls a card', () => {
  const gpu = 'nvidia.com/gpu'
  const table = parseProfiles({ [l40s]: { card: gpu }, [h200]: { card: 'amd.com/gpu' } }, '--config')
  expect(resolveProfile(l40s, { table, cardKinds: [gpu] })?.card).toBe(gpu)
  expect(resolveProfile(h200, { table, cardKinds: [gpu] })?.card).toBe('amd.com/gpu')
  expect(resolveProfile('default', { table, cardKinds: [gpu] })?.card).toBe(gpu)
})

describe('the resources of a profile', () => {
  const engine = { cpu: '500m', memory: '512Mi' }

  it('are the engine’s own where the profile says nothing', () => {
    expect(profileResources({ card: l40s }, 2, engine)).toEqual({
      requests: { cpu: '500m', memory: '512Mi', [l40s]: '2' },
      limits: { [l40s]: '2' },
    })
  })

  it('come with each card', () => {
    const profile = { card: l40s, requests: { cpu: '0.1', memory: '32Gi' }, limits: { memory: '40Gi' } }
    expect(profileResources(profile, 3, engine)).toEqual({
      requests: { cpu: '0.3', memory: '96Gi', [l40s]: '3' },
      limits: { memory: '120Gi', [l40s]: '3' },
    })
  })

  it('never request more than their limit', () => {
    const { requests } = profileResources({ card: l40s, limits: { memory: '100Mi' } }, 1, engine)
    expect(requests).toEqual({ cpu: '500m', [l40s]: '1' })
  })
})

describe('the profiles of a configuration file', () => {
  it.each([
    [{ spot: {} }, 'profiles.spot: must have the form <vendor>.com/gpu-<model>'],
    [{ default: { card: 'l40s' } }, 'profiles.default.card: must be the name of a resource'],
    [{ default: { sharedMemory: true } }, 'profiles.default.sharedMemory: must be unlimited, or a quantity'],
    [{ default: { images: { VLLM: '{registri}/x' } } }, 'profiles.default.images.VLLM: {registri} means nothing here'],
    [{ default: { weightsCache: { hostPath: '/x' } } }, 'profiles.default.weightsCache.size'],
    [{ default: { requests: { cpu: 'lots' } } }, 'profiles.default.requests.cpu: must be a quantity'],
    [{ default: { requests: { cpu: '-1' } } }, 'profiles.default.requests.cpu: must be a quantity'],
    [{ default: { limits: { [l40s]: 1 } } }, 'profiles.default.limits: cards are counted by the Model'],
    [{ default: { selector: {} } }, 'profiles.default: Unrecognized key: "selector"'],
    [{ default: { tolerations: [{ effect: 'Never' }] } }, 'profiles.default.tolerations.0.effect'],
  ])('refuse %j', (value, message) => {
    expect(() => parseProfiles(value, '--config')).toThrow(message)
  })
})
