import { readFileSync } from 'node:fs'
import type { EntryStep } from '../isolation/entry-steps.ts'
import { callFilter } from './call-filter.ts'
import { capabilityNumber } from './capabilities.ts'
import type { SecurityPlan } from './security-plan.ts'

/** The user and rights of a program, without those that concern its root file system. */
export type Rights = Omit<SecurityPlan, 'readOnlyRoot'>

/**
 * The steps by which a process gives up rights before it becomes the program, in an order the kernel permits. The
 * filter comes while the process still may install it without no-new-privileges, which a program that changes its user
 * could not keep.
 */
export function rightsSteps(rights: Rights, machine: 'x64' | 'arm64', asUser: boolean): EntryStep[] {
  const { uid, gid, groups, capabilities, noNewPrivileges, filterCalls } = rights
  const granted = new Set(capabilities.map(capabilityNumber))
  const all = Array.from({ length: lastCapability() + 1 }, (_, number) => number)
  const [low, high] = uid === 0 ? bits(granted) : [0, 0]
  return [
    ['bounding', ...all.filter((number) => !granted.has(number))],
    ...(filterCalls ? ([['filter', callFilter(machine, capabilities)]] as const) : []),
    ['identity', uid, gid, asUser ? 0 : 1, ...groups],
    ['capabilities', low, high],
    ...(noNewPrivileges ? ([['no-new-privileges']] as const) : []),
  ]
}

function bits(numbers: ReadonlySet<number>): [number, number] {
  const word = (from: number) => {
    let value = 0
    for (const number of numbers) if (number >= from && number < from + 32) value += 2 ** (number - from)
    return value
  }
  return [word(0), word(32)]
}

/** Kernels differ in how many capabilities they have. */
function lastCapability(): number {
  last ??= Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'latin1'))
  return last
}
let last: number | undefined
