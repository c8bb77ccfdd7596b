import { describe, expect, it } from 'vitest'
import { podSchema } from '../../resources/pod.ts'
import { grantedCapabilities } from './capabilities.ts'
import { type ImageUsers, type NodePowers, planSecurity, volumeGroup } from './security-plan.ts'

const root: ImageUsers = { configured: '', find: (user) => ({ uid: Number(user), gid: 0, groups: [] }) }
const asRoot: NodePowers = { isolated: true, asUser: false, ownNetwork: true, uid: 0, gid: 0 }

/** An image that knows one user by name; others only by number. */
function imageWith(configured: string, known: { uid: number; gid: number; groups: number[] }): ImageUsers {
  const find = (user: string) =>
    user === configured || user === String(known.uid) ? known : { uid: Number(user), gid: 0, groups: [] }
  return { configured, find }
}

function planned(ofPod: object, ofContainer: object, image = root, powers = asRoot) {
  const pod = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1' },
    spec: { containers: [{ name: 'main', image: 'x', securityContext: ofContainer }], securityContext: ofPod },
  })
  const [container] = pod.spec.containers
  if (!container) throw new Error('no container')
  return { pod, plan: planSecurity(pod, container, image, powers) }
}

describe('planSecurity', () => {
  it('leaves a container that asks for nothing the rights that runtimes give', () => {
    const { plan } = planned({}, {})
    expect(plan).toMatchObject({
      uid: 0,
      gid: 0,
      groups: [],
      noNewPrivileges: false,
      readOnlyRoot: false,
      filterCalls: true,
    })
    const unconfined = planned({ seccompProfile: { type: 'Unconfined' } }, {}).plan
    expect(unconfined).toMatchObject({ filterCalls: false })
    expect('capabilities' in plan && plan.capabilities).toHaveLength(14)
  })

  it('takes the user of the image, of the Pod, of the container: the last that says so', () => {
    const image = imageWith('www', { uid: 33, gid: 34, groups: [35] })
    expect(planned({}, {}, image).plan).toMatchObject({ uid: 33, gid: 34, groups: [35] })
    expect(planned({ runAsUser: 1000 }, {}, image).plan).toMatchObject({ uid: 1000, gid: 0, groups: [] })
    expect(planned({ runAsUser: 1000, runAsGroup: 7 }, { runAsUser: 2000 }).plan).toMatchObject({ uid: 2000, gid: 7 })
    expect(planned({ runAsUser: 33 }, {}, image).plan).toMatchObject({ uid: 33, gid: 34, groups: [35] })
  })

  it('joins supplemental groups and the group of volumes', () => {
    const { pod, plan } = planned({ fsGroup: 2000, supplementalGroups: [5, 6] }, {})
    expect(plan).toMatchObject({ groups: [5, 6, 2000] })
    expect(volumeGroup(pod)).toEqual({ gid: 2000, onlyOnMismatch: false })
    const strict = { supplementalGroups: [5], supplementalGroupsPolicy: 'Strict' }
    expect(planned(strict, {}, imageWith('1', { uid: 1, gid: 1, groups: [9] })).plan).toMatchObject({ groups: [5] })
  })

  it.each<[string, object, object, ImageUsers, string | undefined]>([
    ['root by default', { runAsNonRoot: true }, {}, root, 'image will run as root'],
    ['root by name of the field', { runAsNonRoot: true }, { runAsUser: 0 }, root, 'breaks non-root policy'],
    [
      'a name',
      { runAsNonRoot: true },
      {},
      imageWith('www', { uid: 33, gid: 33, groups: [] }),
      'non-numeric user (www)',
    ],
    ['a number', { runAsNonRoot: true }, {}, imageWith('33', { uid: 33, gid: 33, groups: [] }), undefined],
    ['another user', { runAsNonRoot: true, runAsUser: 1000 }, {}, root, undefined],
    ['root where the container allows it', { runAsNonRoot: true }, { runAsNonRoot: false }, root, undefined],
  ])('with runAsNonRoot, judges %s', (_what, ofPod, ofContainer, image, refused) => {
    const { plan } = planned(ofPod, ofContainer, image)
    const words = 'refused' in plan ? plan.refused : 'nothing'
    expect(words).toContain(refused ?? 'nothing')
  })

  it.each<[object, string]>([
    [{ privileged: true }, 'securityContext.privileged'],
    [{ procMount: 'Unmasked' }, 'securityContext.procMount'],
    [{ seccompProfile: { type: 'Localhost', localhostProfile: 'x' } }, 'securityContext.seccompProfile'],
    [{ appArmorProfile: { type: 'RuntimeDefault' } }, 'securityContext.appArmorProfile'],
    [{ capabilities: { add: ['SYS_ADMIN'] } }, 'securityContext.capabilities'],
    [{ capabilities: { add: ['ALL'] } }, 'securityContext.capabilities'],
    [{ capabilities: { drop: ['NO_SUCH'] } }, 'securityContext.capabilities'],
    [{ runAsUser: 'me' }, 'securityContext'],
  ])('refuses %j by the name of the field', (context, field) => {
    const { plan } = planned({}, context)
    expect('refused' in plan && plan.refused).toContain(field)
  })

  it('refuses, where there are no namespaces, all that could only be had in them', () => {
    const plain: NodePowers = { isolated: false, asUser: false, ownNetwork: false, uid: 1000, gid: 1000 }
    const asks: [string, object, object][] = [
      ['runAsUser', { runAsUser: 1000 }, {}],
      ['runAsGroup', {}, { runAsGroup: 5 }],
      ['supplementalGroups', { supplementalGroups: [5] }, {}],
      ['fsGroup', { fsGroup: 5 }, {}],
      ['capabilities', {}, { capabilities: { drop: ['ALL'] } }],
      ['allowPrivilegeEscalation', {}, { allowPrivilegeEscalation: false }],
      ['readOnlyRootFilesystem', {}, { readOnlyRootFilesystem: true }],
      ['seccompProfile', { seccompProfile: { type: 'RuntimeDefault' } }, {}],
    ]
    for (const [field, ofPod, ofContainer] of asks) {
      const { plan } = planned(ofPod, ofContainer, root, plain)
      expect('refused' in plan && plan.refused).toContain(`securityContext.${field} `)
    }
    expect(planned({ runAsNonRoot: true }, {}, root, plain).plan).toMatchObject({ uid: 1000 })
    expect(planned({ runAsNonRoot: true }, {}, root, { ...plain, uid: 0 }).plan).toHaveProperty('refused')
  })

  it('gives a container one user and one group, where this program is not root', () => {
    const powers: NodePowers = { ...asRoot, asUser: true, ownNetwork: false, uid: 1000, gid: 1000 }
    expect(planned({ runAsUser: 5, runAsGroup: 6, fsGroup: 6 }, {}, root, powers).plan).toMatchObject({
      uid: 5,
      gid: 6,
      groups: [],
    })
    const asks: [string, object][] = [
      ['fsGroup', { fsGroup: 7 }],
      ['supplementalGroups', { supplementalGroups: [8] }],
    ]
    for (const [field, ofPod] of asks) {
      const { plan } = planned(ofPod, {}, root, powers)
      expect('refused' in plan && plan.refused).toContain(`securityContext.${field} `)
    }
  })

  it('reads what the restricted profile of Pods asks for', () => {
    const restricted = {
      runAsNonRoot: true,
      runAsUser: 1000,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    }
    expect(planned({}, restricted).plan).toEqual({
      uid: 1000,
      gid: 0,
      groups: [],
      capabilities: [],
      noNewPrivileges: true,
      readOnlyRoot: true,
      filterCalls: true,
    })
  })
})

describe('grantedCapabilities', () => {
  it('drops and adds, with and without the prefix, in any case', () => {
    expect(grantedCapabilities({ drop: ['ALL'], add: ['cap_net_bind_service', 'NET_ADMIN'] }, true)).toEqual({
      granted: ['NET_BIND_SERVICE', 'NET_ADMIN'],
    })
    const without = grantedCapabilities({ drop: ['NET_RAW'] }, true)
    expect('granted' in without && without.granted).not.toContain('NET_RAW')
  })

  it('gives nothing that reaches the network of others', () => {
    const usual = grantedCapabilities({}, false)
    expect('granted' in usual && usual.granted).not.toContain('NET_RAW')
    expect(grantedCapabilities({ add: ['NET_ADMIN'] }, false)).toHaveProperty('refused')
  })
})
