import { BlockList, isIP } from 'node:net'
import { type FieldError, faultsOfEach, forbidden, invalid, required, unsupported } from '../field-error.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textIn, textsIn } from './json-access.ts'
import { checkLabelSelector } from './label-selector-rules.ts'
import { checkPortName, checkPortNumber } from './name-syntax.ts'

const protocols = ['TCP', 'UDP', 'SCTP']
const policyTypes = ['Ingress', 'Egress']
const blockRule = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

export function checkNetworkPolicy(policy: Json): FieldError[] {
  const spec = objectIn(policy, 'spec') ?? {}
  return [
    ...checkLabelSelector('spec.podSelector', objectIn(spec, 'podSelector') ?? {}),
    ...checkRules('spec.ingress', listIn(spec, 'ingress'), 'from'),
    ...checkRules('spec.egress', listIn(spec, 'egress'), 'to'),
    ...checkPolicyTypes('spec.policyTypes', textsIn(spec, 'policyTypes')),
  ]
}

function checkRules(field: string, rules: readonly unknown[], peers: 'from' | 'to'): FieldError[] {
  return faultsOfEach(rules, (rule, index) => {
    const here = `${field}[${index}]`
    return [
      ...faultsOfEach(listIn(rule, 'ports'), (port, at) => checkPort(`${here}.ports[${at}]`, port)),
      ...faultsOfEach(listIn(rule, peers), (peer, at) => checkPeer(`${here}.${peers}[${at}]`, peer)),
    ]
  })
}

function checkPolicyTypes(field: string, types: readonly string[]): FieldError[] {
  if (types.length > policyTypes.length) return [invalid(field, types, 'may not specify more than two policyTypes')]
  return types.flatMap((type, index) =>
    policyTypes.includes(type) ? [] : [unsupported(`${field}[${index}]`, type, policyTypes)],
  )
}

function checkPort(field: string, value: unknown): FieldError[] {
  const protocol = textIn(value, 'protocol')
  const errors = protocols.includes(protocol) ? [] : [unsupported(`${field}.protocol`, protocol, protocols)]
  return [...errors, ...checkPortRange(field, fieldIn(value, 'port'), numberIn(value, 'endPort'))]
}

function checkPortRange(field: string, port: unknown, last: number | undefined): FieldError[] {
  const end = `${field}.endPort`
  const unfit = (why: string) =>
    last === undefined ? [] : [invalid(end, last, `may not be specified when \`port\` is ${why}`)]
  if (typeof port === 'string') return [...unfit('non-numeric'), ...checkPortName(`${field}.port`, port)]
  if (typeof port !== 'number') return unfit('not specified')
  const errors = checkPortNumber(`${field}.port`, port)
  if (last === undefined) return errors
  if (last < port) errors.push(invalid(end, port, 'must be greater than or equal to `port`'))
  return [...errors, ...checkPortNumber(end, last)]
}

function checkPeer(field: string, peer: unknown): FieldError[] {
  const block = objectIn(peer, 'ipBlock')
  const selectors = ['podSelector', 'namespaceSelector'].flatMap((name) => {
    const selector = objectIn(peer, name)
    return selector ? [{ name, selector }] : []
  })
  const errors = selectors.flatMap(({ name, selector }) => checkLabelSelector(`${field}.${name}`, selector))
  if (block) errors.push(...checkBlock(`${field}.ipBlock`, block))
  if (!block && selectors.length === 0) errors.push(required(field, 'must specify a peer'))
  if (block && selectors.length > 0) errors.push(forbidden(field, 'may not specify both ipBlock and another peer'))
  return errors
}

function checkBlock(field: string, block: Json): FieldError[] {
  const text = textIn(block, 'cidr')
  if (text === '') return [required(`${field}.cidr`)]
  const whole = parseBlock(text)
  if (!whole) return [invalid(`${field}.cidr`, text, blockRule)]
  const within = strictlyWithin(whole)
  return faultsOfEach(textsIn(block, 'except'), (except, index) => {
    const here = `${field}.except[${index}]`
    const part = parseBlock(except)
    if (!part) return [invalid(here, except, blockRule)]
    return within(part) ? [] : [invalid(here, except, 'must be a strict subset of `cidr`')]
  })
}

interface Block {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

function parseBlock(text: string): Block | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  // Leading zeros are read as decimal, as in early Kubernetes.
  const plain = address.replaceAll(/(?<=^|\.)0+(?=\d)/g, '')
  const version = isIP(plain)
  const bits = Number(digits)
  if (version === 0 || plain.includes('%') || bits > (version === 4 ? 32 : 128)) return undefined
  return { address: plain, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Creating such a list takes much longer than looking something up in it. */
function strictlyWithin(whole: Block): (part: Block) => boolean {
  const list = new BlockList()
  list.addSubnet(whole.address, whole.bits, whole.family)
  return (part) => part.family === whole.family && part.bits > whole.bits && list.check(part.address, part.family)
}
