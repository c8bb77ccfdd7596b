import { expect, it } from 'vitest'
import { anonymous, authenticated } from '../access/identity/user.ts'
import { callerOf } from './priority-levels.ts'

const of = (name: string, namespace?: string, ...groups: string[]) =>
  callerOf(authenticated({ name, groups }), 'one', namespace)

it('tells users apart by level and namespace', () => {
  expect(of('root', 'a', 'system:masters')).toEqual({ level: 'admin', flow: 'one root a' })
  expect(of('alice', 'a')).toEqual({ level: 'user', flow: 'one alice a' })
  expect(of('alice', 'b').flow).not.toBe(of('alice', 'a').flow)
  expect(of('system:node:n', undefined, 'system:nodes').level).toBe('system')
  expect(callerOf(anonymous, 'one', undefined).level).toBe('anonymous')
})

it('takes all service accounts of a namespace for one, whatever they ask for', () => {
  const [one, other] = [of('system:serviceaccount:a:x', 'a'), of('system:serviceaccount:a:y', 'b')]
  expect(one).toEqual({ level: 'workload', flow: 'one a' })
  expect(other).toEqual(one)
  expect(of('system:serviceaccount:kube-system:x').level).toBe('system')
})
