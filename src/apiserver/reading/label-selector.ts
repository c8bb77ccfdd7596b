import { StatusError } from '../../resources/status-error.ts'
import { checkQualifiedName, isLabelValue } from '../writing/names.ts'

export type LabelRequirement =
  | { readonly key: string; readonly operator: 'in' | 'notin'; readonly values: ReadonlySet<string> }
  | { readonly key: string; readonly operator: 'exists' | 'absent' }
  | { readonly key: string; readonly operator: 'above' | 'below'; readonly bound: number }

export type LabelSelector = readonly LabelRequirement[]

const longestSelector = 64 * 1024
const mostRequirements = 512

/** Parses `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`: every requirement must hold. Refuses with BadRequest. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length > longestSelector) throw refused(`it is longer than ${longestSelector} characters`)
  const parts = splitOutsideParentheses(text)
  if (parts.length > mostRequirements) throw refused(`it has more than ${mostRequirements} requirements`)
  return parts.map((part) => parseRequirement(part))
}

export function labelsEqual(labels: Readonly<Record<string, string>>): LabelSelector {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'in', values: new Set([value]) }))
}

export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every((requirement) => holds(requirement, labels))
}

function holds(requirement: LabelRequirement, labels: Readonly<Record<string, string>> | undefined): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined
  switch (requirement.operator) {
    case 'in':
      return value !== undefined && requirement.values.has(value)
    case 'notin':
      return value === undefined || !requirement.values.has(value)
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
    case 'above':
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) > requirement.bound
    default:
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) < requirement.bound
  }
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = []
  let start = 0
  let inside = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '(') inside = true
    else if (character === ')') inside = false
    else if (character === ',' && !inside) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts.length === 1 && parts[0]?.trim() === '' ? [] : parts.map((part) => part.trim())
}

const setBased = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/
const compared = /^([^=!<>\s]+)\s*(==|=|!=|>|<)\s*([^=!<>\s]*)$/
const existence = /^(!?)\s*([^=!<>()\s]+)$/

function parseRequirement(part: string): LabelRequirement {
  const set = setBased.exec(part)
  if (set) {
    const [, key = '', operator, list = ''] = set
    const values = new Set(list.split(',').map((value) => labelValueOf(value.trim())))
    return { key: labelKeyOf(key), operator: operator === 'in' ? 'in' : 'notin', values }
  }
  const comparison = compared.exec(part)
  if (comparison) return parseComparison(comparison)
  const exists = existence.exec(part)
  if (exists) return { key: labelKeyOf(exists[2] ?? ''), operator: exists[1] === '!' ? 'absent' : 'exists' }
  throw refused(`"${part.slice(0, 200)}" is not a requirement`)
}

function parseComparison([, key = '', operator, value = '']: RegExpExecArray): LabelRequirement {
  if (operator === '>' || operator === '<') {
    if (!/^-?\d+$/.test(value)) throw refused(`for '>', '<' operators, the value must be an integer`)
    return { key: labelKeyOf(key), operator: operator === '>' ? 'above' : 'below', bound: Number(value) }
  }
  return { key: labelKeyOf(key), operator: operator === '!=' ? 'notin' : 'in', values: new Set([labelValueOf(value)]) }
}

function labelKeyOf(key: string): string {
  const [error] = checkQualifiedName('key', key)
  if (error) throw refused(`key: ${error.message}`)
  return key
}

function labelValueOf(value: string): string {
  if (!isLabelValue(value)) throw refused(`${JSON.stringify(value.slice(0, 200))} is not a valid label value`)
  return value
}

function refused(why: string): StatusError {
  return new StatusError('BadRequest', `unable to parse requirement: ${why}`)
}
