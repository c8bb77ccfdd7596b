import { describe, expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { eventKind } from '../../resources/event.ts'
import { modelKind } from '../../resources/model.ts'
import { newEventKind } from '../../resources/new-event.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { matchesFields, parseFieldSelector } from './field-selector.ts'
import { matchesLabels, parseLabelSelector } from './label-selector.ts'

describe('a label selector', () => {
  const labels = { app: 'web', tier: 'front', 'example.com/size': '12', empty: '' }
  it.each([
    ['', true],
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app=web,tier=back', false],
    ['app!=web', false],
    ['missing!=web', true],
    ['app in (api, web)', true],
    ['app notin (api,web)', false],
    ['missing notin (a)', true],
    ['app', true],
    ['!app', false],
    ['!missing', true],
    ['empty=', true],
    ['example.com/size>11', true],
    ['example.com/size<12', false],
    ['app>1', false],
    ['toString', false],
  ])('%s → %s', (text, matches) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(matches)
  })

  it.each([
    ['a b'],
    ['a in b'],
    ['a in (b'],
    ['=b'],
    ['a=b=c'],
    ['a,,b'],
    ['-a=b'],
    ['a=b c'],
    ['a>x'],
    ['a/b/c=d'],
    ['x'.repeat(70_000)],
    [Array.from({ length: 600 }, (_, index) => `a${index}`).join(',')],
  ])('refuses %s', (text) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ reason: 'BadRequest' }))
  })
})

describe('a field selector', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n' },
    spec: { nodeName: 'node' },
    status: { phase: 'Running' },
  }
  it.each([
    ['metadata.name=p', true],
    ['metadata.name!=p', false],
    ['metadata.namespace=n,spec.nodeName=node', true],
    ['status.phase!=Failed,status.phase!=Succeeded', true],
    ['spec.nodeName=', false],
    ['status.podIP=', true],
  ])('%s → %s', (text, matches) => {
    expect(matchesFields(parseFieldSelector(podKind, text), pod)).toBe(matches)
  })

  it('selects events by what they are about', () => {
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { kind: 'Model', name: 'm', uid: 'u' },
      type: 'Normal',
    }
    const selector = parseFieldSelector(eventKind, 'involvedObject.name=m,involvedObject.uid=u,type=Normal')
    expect(matchesFields(selector, event)).toBe(true)
  })

  it('finds an Event by who reports it, in whichever field that is said', () => {
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' } }
    const isFrom = (fields: object) =>
      matchesFields(parseFieldSelector(eventKind, 'source=kubelet'), { ...event, ...fields })
    expect(isFrom({ source: { component: 'kubelet' } })).toBe(true)
    expect(isFrom({ source: {}, reportingComponent: 'kubelet' })).toBe(true)
    expect(isFrom({ source: { component: 'other' }, reportingComponent: 'kubelet' })).toBe(false)
    const newer = parseFieldSelector(newEventKind, 'reportingController=kubelet')
    expect(matchesFields(newer, { ...event, reportingComponent: 'kubelet' })).toBe(true)
  })

  it('counts a node that says nothing as schedulable', () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }
    expect(matchesFields(parseFieldSelector(nodeKind, 'spec.unschedulable=false'), node)).toBe(true)
  })

  it.each([
    [configMapKind, 'data.a=b', '"data.a" is not a known field selector'],
    [modelKind, 'spec.engine=VLLM', 'sluice.dev/v1, Kind=Model: field label not supported: spec.engine'],
    [podKind, 'nonsense', "can't understand"],
  ])('refuses what a kind cannot be selected by', (kind, text, words) => {
    expect(() => parseFieldSelector(kind, text)).toThrow(words)
  })
})
