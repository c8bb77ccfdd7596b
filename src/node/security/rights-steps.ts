import { readFileSync } from 'node:fs'
import type { EntryStep } from '../isolation/entry-steps.ts'
import { callFilter } from './call-filter.ts'
import { capabilityNumber } from './capabilities.ts'
import type { SecurityPlan } from './security-plan.ts'

/** As whom and with which rights a program runs; what the root it runs in is like is decided elsewhere. */
export type Rights = Omit<SecurityPlan, 'readOnlyRoot'>

/**
 * What the process that becomes a program gives up, in the order that the kernel permits it in: the filter is put in
 * place as long as that needs no promise to never gain anything, which programs that are to become another user could
 * not keep.
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

/** Kernels know different numbers of them. */
function lastCapability(): number {
  last ??= Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'latin1'))
  return last
}
let last: number | undefined
